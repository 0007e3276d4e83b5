//! `filterd remove`: blocks targets no longer, unless a list that is not live still wants them blocked.

use std::path::Path;

use clap::Args;

use super::ask::change::{self, Outcome};
use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::figure::{count, counted};
use crate::config::ListName;
use crate::control::wire::remove::Held;
use crate::control::wire::strings::Strings;
use crate::control::wire::words;
use crate::control::wire::{self, Changed};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd remove 203.0.113.7
  filterd remove 198.51.100.0/24 --list ssh
  filterd remove - < no-longer.txt")]
pub struct Remove {
    /// Address, prefix, range a-b, or - to read them from standard input, one a line
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,
    /// Only out of this live list
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
    /// Exit with 4 if nothing changed
    #[arg(long)]
    strict: bool,
}

/// More targets that stay blocked than this are counted, not told.
const MOST_TOLD: usize = 10;

const HOW_TO_LET_GO: &str = "to unblock it, take it out of that list's file, or of `block` in the configuration, \
                             and run `filterd reload`;\na live list lets go with `filterd remove --list NAME`";

impl Remove {
    pub fn execute(&self, socket: &Path, console: &mut Console) -> Result<Exit, Trouble> {
        let outcome = change::apply(&self.targets, socket, console, &|words| self.request(words))?;
        let in_vain = outcome.changed.changed == 0 && !outcome.changed.held.is_empty();
        if in_vain {
            console.answer(&outcome, |_| String::new())?;
            console.note(&format!("nothing removed: {}\n{HOW_TO_LET_GO}", held(&outcome.changed)));
        } else {
            console.answer(&outcome, |outcome| self.render(outcome))?;
        }
        Ok(outcome.exit(self.strict))
    }

    fn request(&self, targets: Strings) -> wire::Remove {
        wire::Remove { targets, list: self.list.as_ref().map(ToString::to_string) }
    }

    fn render(&self, outcome: &Outcome) -> String {
        let Changed { named, changed, left, .. } = outcome.changed;
        let held = held(&outcome.changed);
        match (&self.targets[..], named, changed, left) {
            (_, 0, ..) => String::new(),
            ([word], 1, 0, _) if word != "-" => match &self.list {
                Some(list) => format!("{word} is not in list `{list}`"),
                None => format!("{word} is in no live list"),
            },
            ([word], 1, ..) if word != "-" && held.is_empty() => format!("unblocked {word}"),
            ([word], 1, ..) if word != "-" => format!("removed {word}, but {held}"),
            (_, named, changed, left) => {
                let mut parts = Vec::new();
                parts.extend((left > 0).then(|| format!("{} unblocked", count(left))));
                let kept = changed.saturating_sub(left);
                parts.extend((kept > 0).then(|| format!("{} removed, but still blocked", count(kept))));
                let same = named.saturating_sub(changed);
                parts.extend((same > 0).then(|| format!("{} in no live list", count(same))));
                format!("{}: {}\n{held}", counted(named, "target"), parts.join(", "))
            }
        }
    }
}

/// Who keeps what blocked, one a line.
fn held(changed: &Changed) -> String {
    let one = |Held { target, lists, .. }: &Held| {
        let names: Vec<_> = lists.iter().map(|name| format!("`{name}`")).collect();
        match &names[..] {
            [name] => format!("{target} is still blocked: list {name} wants it"),
            names => format!("{target} is still blocked: lists {} want it", names.join(", ")),
        }
    };
    let mut told: Vec<_> = changed.held.iter().take(MOST_TOLD).map(one).collect();
    if changed.held.len() > MOST_TOLD {
        told.push("and more of them: ask `filterd test`".to_owned());
    }
    told.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str], list: Option<&str>, [named, changed, left]: [u64; 3], by: &[&str]) -> String {
        let targets = words.iter().map(ToString::to_string).collect();
        let remove = Remove { targets, list: list.map(|name| name.parse().unwrap()), strict: false };
        let lists: Vec<_> = by.iter().map(ToString::to_string).collect();
        let held =
            if by.is_empty() { vec![] } else { vec![Held { target: "192.0.2.1".into(), lists, by: vec![] }] };
        remove.render(&Outcome { changed: Changed { named, changed, left, held, entered: 0 }, rejected: 0 })
    }

    #[test]
    fn the_answer_says_what_changed_and_what_did_not() {
        assert_eq!(told(&["192.0.2.1"], None, [1, 1, 1], &[]), "unblocked 192.0.2.1");
        assert_eq!(told(&["192.0.2.1"], None, [1, 0, 0], &[]), "192.0.2.1 is in no live list");
        assert_eq!(told(&["192.0.2.1"], Some("ssh"), [1, 0, 0], &[]), "192.0.2.1 is not in list `ssh`");
        let held = "removed 192.0.2.1, but 192.0.2.1 is still blocked: lists `drop`, `config` want it";
        assert_eq!(told(&["192.0.2.1"], None, [1, 1, 0], &["drop", "config"]), held);
        let many = "20 targets: 9 unblocked, 1 removed, but still blocked, 10 in no live list\n\
                    192.0.2.1 is still blocked: list `drop` wants it";
        assert_eq!(told(&["-"], None, [20, 10, 9], &["drop"]), many);
    }
}
