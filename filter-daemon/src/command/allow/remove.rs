//! `filterd allow remove`: removes targets from the live lists that allow. If another list still allows one
//! of them, it passes and the exit code is 1.

use clap::Args;

use crate::command::ask::addition::on_ports;
use crate::command::ask::change::ChangeOutcome;
use crate::command::ask::removal::Removal;
use crate::command::ask::trouble::CommandError;
use crate::command::render::console::Console;
use crate::command::render::figure::{count, counted};
use crate::command::render::held::{self, HeldWords};
use crate::control::client::Endpoint;
use crate::control::wire::{self, Changed, Idle};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct AllowRemove {
    #[command(flatten)]
    removal: Removal,
}

/// At most this many entries are listed one by one.
const MOST_TOLD: usize = 10;

impl AllowRemove {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let render = |outcome: &ChangeOutcome| self.render(outcome);
        self.removal.carry_out(wire::Disallow, HeldWords::allowed, render, (socket, console))
    }

    fn render(&self, outcome: &ChangeOutcome) -> String {
        let Changed { named, changed, held: ref holders, .. } = outcome.changed;
        let first = match (&self.removal.targets[..], named, changed) {
            (_, 0, _) => return String::new(),
            ([word], 1, 0) if word != "-" => format!("{word} is {}", self.nowhere()),
            ([word], 1, _) if word != "-" && holders.is_empty() => format!("{word} is no longer allowed"),
            ([word], 1, _) if word != "-" => format!("removed {word}"),
            (_, named, changed) => {
                let mut parts = Vec::new();
                let done = if holders.is_empty() { "no longer allowed" } else { "removed" };
                parts.extend((changed > 0).then(|| format!("{} {done}", count(changed))));
                let same = named.saturating_sub(changed);
                parts.extend((same > 0).then(|| format!("{} {}", count(same), self.nowhere())));
                format!("{}: {}", counted(named, "target"), parts.join(", "))
            }
        };
        let held = held::told(holders, &HeldWords::allowed(&outcome.changed));
        let mut lines = vec![first];
        lines.extend((!held.is_empty()).then_some(held));
        lines.extend(blocked_again(&outcome.changed));
        lines.join("\n")
    }

    /// Names the lists that do not contain the target.
    fn nowhere(&self) -> String {
        self.removal
            .list
            .as_ref()
            .map_or("in no live list that allows".to_owned(), |list| format!("not in list `{list}`"))
    }
}

/// Describes what blocks the target from now on, unless something else allows it.
fn blocked_again(changed: &Changed) -> Vec<String> {
    if changed.changed == 0 || !changed.held.is_empty() {
        return Vec::new();
    }
    let blocked = match changed.idle {
        None => "blocked",
        Some(Idle::NothingAttached | Idle::NotEnforced | Idle::Paused) => "listed",
    };
    let told = changed.blocked_by.iter().take(MOST_TOLD);
    let mut lines: Vec<_> = told.map(|entry| format!("{blocked} again by {}", on_ports(entry))).collect();
    lines.dedup();
    lines.extend((changed.blocked_by.len() > MOST_TOLD).then(|| "and more entries".to_owned()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::{Entry, Held, HeldBy};

    fn told(words: &[&str], changed: Changed) -> String {
        let targets = words.iter().map(ToString::to_string).collect();
        let remove = AllowRemove { removal: Removal { targets, list: None, strict: false } };
        remove.render(&ChangeOutcome { changed, ..ChangeOutcome::default() })
    }

    #[test]
    fn the_answer_says_what_blocks_it_again() {
        let gone = Changed { named: 1, changed: 1, left: 1, ..Changed::default() };
        assert_eq!(told(&["192.0.2.1"], gone.clone()), "192.0.2.1 is no longer allowed");
        let (target, list) = ("192.0.2.0/24".into(), "drop".into());
        let blocked_by = vec![Entry { target, list, since: 1, ..Entry::default() }];
        let words = "192.0.2.1 is no longer allowed\nblocked again by 192.0.2.0/24 of list `drop`";
        assert_eq!(told(&["192.0.2.1"], Changed { blocked_by: blocked_by.clone(), ..gone.clone() }), words);
        let idle = Some(Idle::NotEnforced);
        let words = "192.0.2.1 is no longer allowed\nlisted again by 192.0.2.0/24 of list `drop`";
        assert_eq!(told(&["192.0.2.1"], Changed { blocked_by, idle, ..gone }), words);
        let none = Changed { named: 1, ..Changed::default() };
        assert_eq!(told(&["192.0.2.1"], none), "192.0.2.1 is in no live list that allows");
    }

    #[test]
    fn remaining_allow_list_is_reported() {
        let by = HeldBy {
            target: "192.0.2.0/24".into(),
            list: "partners".into(),
            origin: "live".into(),
            ports: None,
            blocks: None,
            direction: None,
        };
        let (target, lists) = ("192.0.2.1".into(), vec!["partners".into()]);
        let held = vec![Held { target, lists, by: vec![by], ..Held::default() }];
        let changed = Changed { named: 1, changed: 1, held, ..Changed::default() };
        assert_eq!(
            told(&["192.0.2.1"], changed),
            "removed 192.0.2.1\n192.0.2.1 is still allowed: held by 192.0.2.0/24 of list `partners`\n\
             `filterd allow remove 192.0.2.0/24` removes all of it"
        );
    }
}
