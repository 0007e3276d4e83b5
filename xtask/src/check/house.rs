//! The rules of the house as ARCHITECTURE.md writes them: a table of who may import whom, and a list of the circles there
//! are. The document is the one definition; this reads it.

use std::collections::BTreeSet;

const HEADING: &str = "### Who may import whom";
const ROW: &str = "| `";
const CIRCLE: &str = "- circle ";

/// What stands under the heading.
#[derive(Debug, Default)]
pub struct House {
    pub rooms: Vec<Room>,
    pub circles: Vec<Circle>,
}

/// A row: a file or directory of sources, and what its files may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// From the top of the work tree, without `.rs`.
    pub path: String,
    pub may: May,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum May {
    /// Crates, and rooms of its own crate, as paths.
    Only(Vec<String>),
    Everything,
}

/// Modules that name each other, with a reason behind the list that is for readers.
#[derive(Debug, PartialEq, Eq)]
pub struct Circle {
    pub modules: BTreeSet<String>,
    pub has_reason: bool,
}

impl House {
    pub fn read(document: &str) -> Self {
        let section = document.lines().skip_while(|line| line.trim_end() != HEADING).skip(1);
        let section: Vec<_> = section.take_while(|line| !line.starts_with('#')).collect();
        Self {
            rooms: section.iter().filter_map(|line| room(line)).collect(),
            circles: section.iter().filter_map(|line| circle(line)).collect(),
        }
    }

    /// The most particular one that a file lies in.
    pub fn room_of(&self, file: &str) -> Option<&Room> {
        self.rooms.iter().filter(|room| room.holds(file)).max_by_key(|room| room.path.len())
    }
}

impl Room {
    pub fn holds(&self, file: &str) -> bool {
        file.strip_prefix(&self.path).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }

    /// As a path of its crate: `filter-daemon/src/blocklist` is `crate::blocklist`.
    pub fn module(&self) -> String {
        let inside = self.path.split_once("/src/").map_or("", |(_, inside)| inside);
        format!("crate::{}", inside.replace('/', "::")).trim_end_matches(':').to_owned()
    }
}

fn room(line: &str) -> Option<Room> {
    line.strip_prefix(ROW)?;
    let mut cells = line.trim_matches(['|', ' ']).split('|');
    let path = spans(cells.next()?).next()?.to_owned();
    let allowed = cells.next()?;
    let only = || May::Only(spans(allowed).map(ToOwned::to_owned).collect());
    let may = if allowed.trim() == "everything" { May::Everything } else { only() };
    Some(Room { path, may })
}

fn circle(line: &str) -> Option<Circle> {
    let (modules, reason) = line.strip_prefix(CIRCLE)?.split_once(": ").unwrap_or((line, ""));
    let modules = spans(modules).map(ToOwned::to_owned).collect();
    Some(Circle { modules, has_reason: !reason.trim().is_empty() })
}

/// What stands between backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Does this path lead to what the other one names, or into it?
pub fn begins_with(path: &str, beginning: &str) -> bool {
    path.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
| `not/src` | `this` |
### Who may import whom
Words.

| room | may import |
|---|---|
| `common/src` | nothing |
| `daemon/src/kernel` | `aya`, `crate::blocklist::Effects` |
| `daemon/src/kernel/broker` | `nix` |
| `daemon/src/daemon` | everything |

- circle `kernel::a`, `kernel::b`: they are two halves of one thing
- circle `c`, `d`

### More
| `nor/src` | `that` |
";

    #[test]
    fn the_table_is_read_and_nothing_else() {
        let house = House::read(DOCUMENT);
        let paths: Vec<_> = house.rooms.iter().map(|room| room.path.as_str()).collect();
        assert_eq!(
            paths,
            ["common/src", "daemon/src/kernel", "daemon/src/kernel/broker", "daemon/src/daemon"]
        );
        assert_eq!(house.rooms[0].may, May::Only(Vec::new()));
        assert_eq!(house.rooms[1].may, May::Only(vec!["aya".into(), "crate::blocklist::Effects".into()]));
        assert_eq!(house.rooms[3].may, May::Everything);
    }

    #[test]
    fn circles_are_read_with_whether_they_have_a_reason() {
        let circles = House::read(DOCUMENT).circles;
        let two = |a: &str, b: &str| BTreeSet::from([a.to_owned(), b.to_owned()]);
        assert_eq!(
            circles,
            [
                Circle { modules: two("kernel::a", "kernel::b"), has_reason: true },
                Circle { modules: two("c", "d"), has_reason: false },
            ]
        );
    }

    #[test]
    fn the_most_particular_room_counts() {
        let house = House::read(DOCUMENT);
        let room = |file| house.room_of(file).map(|room| room.path.as_str());
        assert_eq!(room("daemon/src/kernel/broker/mod.rs"), Some("daemon/src/kernel/broker"));
        assert_eq!(room("daemon/src/kernel/brokers.rs"), Some("daemon/src/kernel"));
        assert_eq!(room("daemon/src/kernel.rs"), Some("daemon/src/kernel"));
        assert_eq!(room("daemon/src/other.rs"), None);
    }
}
