//! Unsafe code lies only in the rooms that ARCHITECTURE.md lists, and each room on the list has some.

use super::source::File;

const HEADING: &str = "## Unsafe rooms";

/// One line for each unsafe file that is not listed, and for each listed one that is not unsafe.
pub fn complaints(files: &[File], document: &str) -> Vec<String> {
    compare(files, &listed(document))
}

fn compare(files: &[File], rooms: &[&str]) -> Vec<String> {
    let unlisted = files.iter().filter(|file| !rooms.contains(&file.path.as_str())).filter_map(|file| {
        let line = file.is_unsafe?;
        Some(format!(
            "{}:{line}: unsafe code outside the rooms under `{HEADING}` of ARCHITECTURE.md",
            file.path
        ))
    });
    let is_unsafe = |room: &str| files.iter().any(|file| file.path == room && file.is_unsafe.is_some());
    let idle = rooms.iter().filter(|room| !is_unsafe(room));
    let idle = idle
        .map(|room| format!("ARCHITECTURE.md: {room} is listed under `{HEADING}` but holds no unsafe code"));
    unlisted.chain(idle).collect()
}

/// The paths of lines like "- `filter-ebpf/src/maps.rs`: why", under the heading.
fn listed(document: &str) -> Vec<&str> {
    let section = document.lines().skip_while(|line| line.trim_end() != HEADING).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    section.filter_map(|line| line.strip_prefix("- `")?.split('`').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source;

    const DOCUMENT: &str = "# House\n- `other.rs`\n\n## Unsafe rooms\nFew.\n\n- `a/maps.rs`: pointers\n- `a/frame.rs`\n\n## More\n- `b.rs`\n";

    fn file(path: &str, text: &str) -> File {
        source::parse(path.to_owned(), text).unwrap()
    }

    #[test]
    fn the_list_ends_with_its_section() {
        assert_eq!(listed(DOCUMENT), ["a/maps.rs", "a/frame.rs"]);
        assert!(listed("# House\n").is_empty());
    }

    #[test]
    fn unsafe_code_elsewhere_is_told() {
        let files =
            [file("a/maps.rs", "unsafe {}"), file("a/frame.rs", "unsafe {}"), file("b.rs", "\nunsafe {}")];
        let complaints = compare(&files, &listed(DOCUMENT));
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].starts_with("b.rs:2: unsafe code"), "{complaints:?}");
    }

    #[test]
    fn a_room_without_unsafe_code_is_struck_from_the_list() {
        let files = [file("a/maps.rs", "unsafe {}"), file("a/frame.rs", "fn f() {}")];
        let complaints = compare(&files, &listed(DOCUMENT));
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains("a/frame.rs"), "{complaints:?}");
    }
}
