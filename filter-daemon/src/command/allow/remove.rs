//! `filterd allow remove`: takes targets out of the live lists that allow; what another list allows still passes, which is
//! a no.

use clap::Args;

use crate::command::ask::change::{self, Outcome};
use crate::command::ask::trouble::Trouble;
use crate::command::render::console::Console;
use crate::command::render::figure::{count, counted};
use crate::command::render::held::{self, Words};
use crate::config::ListName;
use crate::control::client::Endpoint;
use crate::control::wire::strings::Strings;
use crate::control::wire::words;
use crate::control::wire::{self, Changed, Idle};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd allow remove 192.0.2.10
  filterd allow remove 198.51.100.0/24 --list partners
  filterd allow remove - < no-longer.txt")]
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

/// More entries than this are not told one by one.
const MOST_TOLD: usize = 10;

impl Remove {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let outcome = change::apply(&self.targets, socket, console, &|words| self.request(words))?;
        let Changed { changed, held: holders, .. } = &outcome.changed;
        if *changed == 0 && !holders.is_empty() {
            console.answer(&outcome, |_| String::new())?;
            let of = self.list.as_ref().map(|list| format!(" from list `{list}`")).unwrap_or_default();
            console.note(&format!("nothing removed{of}: {}", held::told(holders, &Words::ALLOWED)));
        } else {
            console.answer(&outcome, |outcome| self.render(outcome))?;
        }
        change::tell_durability(&outcome.changed, console);
        Ok(self.exit(&outcome))
    }

    /// What was asked for is not so if a target, or a part of it, is still allowed; of a single list, if that very list
    /// allows it.
    fn exit(&self, outcome: &Outcome) -> Exit {
        let asked = |list: &str| self.list.as_ref().is_none_or(|only| only.as_str() == list);
        let still_allowed = outcome.changed.held.iter().any(|held| held.lists.iter().any(|list| asked(list)));
        let exit = outcome.exit(self.strict);
        if exit == Exit::Done && still_allowed { Exit::No } else { exit }
    }

    fn request(&self, targets: Strings) -> wire::Disallow {
        wire::Disallow(wire::Remove { targets, list: self.list.as_ref().map(ToString::to_string) })
    }

    fn render(&self, outcome: &Outcome) -> String {
        let Changed { named, changed, held: ref holders, .. } = outcome.changed;
        let first = match (&self.targets[..], named, changed) {
            (_, 0, _) => return String::new(),
            ([word], 1, 0) if word != "-" => format!("{word} is {}", self.nowhere()),
            ([word], 1, _) if word != "-" && holders.is_empty() => format!("{word} is allowed no longer"),
            ([word], 1, _) if word != "-" => format!("removed {word}"),
            (_, named, changed) => {
                let mut parts = Vec::new();
                let done = if holders.is_empty() { "allowed no longer" } else { "removed" };
                parts.extend((changed > 0).then(|| format!("{} {done}", count(changed))));
                let same = named.saturating_sub(changed);
                parts.extend((same > 0).then(|| format!("{} {}", count(same), self.nowhere())));
                format!("{}: {}", counted(named, "target"), parts.join(", "))
            }
        };
        let held = held::told(holders, &Words::ALLOWED);
        let mut lines = vec![first];
        lines.extend((!held.is_empty()).then_some(held));
        lines.extend(blocked_again(&outcome.changed));
        lines.join("\n")
    }

    /// Where nothing had to be taken out of.
    fn nowhere(&self) -> String {
        self.list
            .as_ref()
            .map_or("in no live list that allows".to_owned(), |list| format!("not in list `{list}`"))
    }
}

/// What blocks it from now on, as far as nothing else allows it.
fn blocked_again(changed: &Changed) -> Vec<String> {
    if changed.changed == 0 || !changed.held.is_empty() {
        return Vec::new();
    }
    let blocked = match changed.idle {
        None => "blocked",
        Some(Idle::NothingAttached | Idle::NotEnforced | Idle::Paused) => "listed",
    };
    let told = changed.blocked_by.iter().take(MOST_TOLD);
    let mut lines: Vec<_> =
        told.map(|entry| format!("{blocked} again by {} of list `{}`", entry.target, entry.list)).collect();
    lines.dedup();
    lines.extend((changed.blocked_by.len() > MOST_TOLD).then(|| "and more of them".to_owned()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::{Entry, Held, HeldBy};

    fn told(words: &[&str], changed: Changed) -> String {
        let targets = words.iter().map(ToString::to_string).collect();
        let remove = Remove { targets, list: None, strict: false };
        remove.render(&Outcome { changed, ..Outcome::default() })
    }

    #[test]
    fn the_answer_says_what_blocks_it_again() {
        let gone = Changed { named: 1, changed: 1, left: 1, ..Changed::default() };
        assert_eq!(told(&["192.0.2.1"], gone.clone()), "192.0.2.1 is allowed no longer");
        let (target, list) = ("192.0.2.0/24".into(), "drop".into());
        let blocked_by =
            vec![Entry { target, list, since: 1, until: None, note: None, by: None, origin: None }];
        let words = "192.0.2.1 is allowed no longer\nblocked again by 192.0.2.0/24 of list `drop`";
        assert_eq!(told(&["192.0.2.1"], Changed { blocked_by: blocked_by.clone(), ..gone.clone() }), words);
        let idle = Some(Idle::NotEnforced);
        let words = "192.0.2.1 is allowed no longer\nlisted again by 192.0.2.0/24 of list `drop`";
        assert_eq!(told(&["192.0.2.1"], Changed { blocked_by, idle, ..gone }), words);
        let none = Changed { named: 1, ..Changed::default() };
        assert_eq!(told(&["192.0.2.1"], none), "192.0.2.1 is in no live list that allows");
    }

    #[test]
    fn what_another_list_allows_is_told() {
        let by = HeldBy { target: "192.0.2.0/24".into(), list: "partners".into(), origin: "live".into() };
        let (target, lists) = ("192.0.2.1".into(), vec!["partners".into()]);
        let held = vec![Held { target, lists, by: vec![by], within: 0 }];
        let changed = Changed { named: 1, changed: 1, held, ..Changed::default() };
        assert_eq!(
            told(&["192.0.2.1"], changed),
            "removed 192.0.2.1\n192.0.2.1 is still allowed: held by 192.0.2.0/24 of list `partners`\n\
             `filterd allow remove 192.0.2.0/24` removes all of it"
        );
    }
}
