//! `filterd remove`: removes targets from the live lists. If another list still blocks one of them, the
//! exit code is 1.

use clap::Args;

use super::ask::change::ChangeOutcome;
use super::ask::removal::Removal;
use super::ask::trouble::CommandError;
use super::render::console::Console;
use super::render::figure::{count, counted};
use super::render::held::{self, HeldWords};
use crate::control::client::Endpoint;
use crate::control::wire::Changed;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Remove {
    #[command(flatten)]
    removal: Removal,
}

impl Remove {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let render = |outcome: &ChangeOutcome| self.render(outcome);
        self.removal.carry_out(|removal| removal, HeldWords::blocked, render, (socket, console))
    }

    fn render(&self, outcome: &ChangeOutcome) -> String {
        let Changed { named, changed, idle, held: ref holders, .. } = outcome.changed;
        let held = held::told(holders, &HeldWords::blocked(&outcome.changed));
        // Nothing was blocked if nothing is dropped. Only a part of a held target may be unblocked.
        let done = if holders.is_empty() && idle.is_none() { "unblocked" } else { "removed" };
        match (&self.removal.targets[..], named, changed) {
            (_, 0, _) => String::new(),
            ([word], 1, 0) if word != "-" => format!("{word} is {}", self.nowhere()),
            ([word], 1, _) if word != "-" && holders.is_empty() => format!("{done} {word}"),
            ([word], 1, _) if word != "-" => format!("removed {word}, but {held}"),
            (_, named, changed) => {
                let mut parts = Vec::new();
                parts.extend((changed > 0).then(|| format!("{} {done}", count(changed))));
                let same = named.saturating_sub(changed);
                parts.extend((same > 0).then(|| format!("{} {}", count(same), self.nowhere())));
                format!("{}: {}\n{held}", counted(named, "target"), parts.join(", "))
            }
        }
    }

    /// Names the lists that do not contain the target.
    fn nowhere(&self) -> String {
        self.removal
            .list
            .as_ref()
            .map_or("in no live list".to_owned(), |list| format!("not in list `{list}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::{Held, HeldBy};

    fn told(words: &[&str], list: Option<&str>, [named, changed, left]: [u64; 3], by: &[&str]) -> String {
        let targets = words.iter().map(ToString::to_string).collect();
        let list = list.map(|name| name.parse().unwrap());
        let remove = Remove { removal: Removal { targets, list, strict: false } };
        let entry = |list: &&str| HeldBy {
            target: "192.0.2.1".into(),
            list: (*list).into(),
            origin: "file".into(),
            ports: None,
            blocks: None,
            direction: None,
        };
        let by: Vec<_> = by.iter().map(entry).collect();
        let lists = by.iter().map(|by| by.list.clone()).collect();
        let held = if by.is_empty() {
            vec![]
        } else {
            vec![Held { target: "192.0.2.1".into(), lists, by, ..Held::default() }]
        };
        let changed = Changed { named, changed, left, held, ..Changed::default() };
        remove.render(&ChangeOutcome { changed, ..ChangeOutcome::default() })
    }

    #[test]
    fn remove_reply_separates_changed_and_unchanged() {
        assert_eq!(told(&["192.0.2.1"], None, [1, 1, 1], &[]), "unblocked 192.0.2.1");
        assert_eq!(told(&["192.0.2.1"], None, [1, 0, 0], &[]), "192.0.2.1 is in no live list");
        assert_eq!(told(&["192.0.2.1"], Some("ssh"), [1, 0, 0], &[]), "192.0.2.1 is not in list `ssh`");
        let held = "removed 192.0.2.1, but 192.0.2.1 is still blocked: held by list `drop`, list `config`\n\
                    lists `config`, `drop` come from the configuration: change it there, then `filterd reload`";
        assert_eq!(told(&["192.0.2.1"], None, [1, 1, 0], &["drop", "config"]), held);
        let many = "20 targets: 10 removed, 10 in no live list\n\
                    192.0.2.1 is still blocked: held by list `drop`\n\
                    list `drop` comes from the configuration: change it there, then `filterd reload`";
        assert_eq!(told(&["-"], None, [20, 10, 9], &["drop"]), many);
    }

    #[test]
    fn still_blocked_target_exits_with_one() {
        let exit = |only: Option<&str>, strict, changed, by: &[&str]| {
            let list = only.map(|name| name.parse().unwrap());
            let remove = Removal { targets: vec!["192.0.2.1".into()], list, strict };
            let lists: Vec<_> = by.iter().map(ToString::to_string).collect();
            let held = if by.is_empty() { vec![] } else { vec![Held { lists, ..Held::default() }] };
            remove.exit(&ChangeOutcome {
                changed: Changed { named: 1, changed, held, ..Changed::default() },
                ..ChangeOutcome::default()
            })
        };
        assert_eq!(exit(None, false, 1, &[]), Exit::Done);
        assert_eq!(exit(None, false, 1, &["drop"]), Exit::No);
        assert_eq!(exit(None, false, 0, &["manual"]), Exit::No, "a prefix around it");
        assert_eq!(exit(None, true, 0, &["manual"]), Exit::Unchanged);
        assert_eq!(exit(None, false, 0, &[]), Exit::Done);
        assert_eq!(exit(Some("ssh"), false, 1, &["web"]), Exit::Done, "it is out of the list that was named");
        assert_eq!(exit(Some("ssh"), false, 0, &["ssh"]), Exit::No, "a prefix around it");
        let exit_on = |ports: &[&str]| {
            let remove = Removal { targets: vec!["192.0.2.1".into()], list: None, strict: false };
            let ports = ports.iter().map(ToString::to_string).collect();
            let held = vec![Held { lists: vec!["drop".into()], ports, ..Held::default() }];
            let changed = Changed { named: 1, changed: 1, held, ..Changed::default() };
            remove.exit(&ChangeOutcome { changed, ..ChangeOutcome::default() })
        };
        assert_eq!(exit_on(&["on port 22 only"]), Exit::Done, "it passes on the others");
        assert_eq!(exit_on(&[]), Exit::No);
    }
}
