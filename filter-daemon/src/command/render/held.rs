//! What keeps a removed target blocked, and the commands that unblock it.

use std::collections::BTreeSet;

use crate::control::wire::entry::LIVE;
use crate::control::wire::{Held, HeldBy};

/// More targets that stay blocked than this are counted, not told.
const MOST_TOLD: usize = 10;

/// More targets than this make a command that nobody reads.
const MOST_IN_A_COMMAND: usize = 5;

/// Each target with the entries that hold it, one a line.
pub fn held(all: &[Held]) -> String {
    let mut lines: Vec<_> = all.iter().take(MOST_TOLD).map(one).collect();
    if all.len() > MOST_TOLD {
        lines.push("and more of them: ask `filterd test`".to_owned());
    }
    lines.join("\n")
}

fn one(Held { target, lists, by }: &Held) -> String {
    let entry = |by: &HeldBy| {
        let around = if by.target == *target { String::new() } else { format!("{} of ", by.target) };
        format!("{around}list `{}`", by.list)
    };
    let holders: Vec<_> = match &by[..] {
        [] => lists.iter().map(|name| format!("list `{name}`")).collect(),
        by => by.iter().map(entry).collect(),
    };
    format!("{target} is still blocked: held by {}", holders.join(", "))
}

/// How to unblock what is held, one way a line.
pub fn remedies(all: &[Held]) -> String {
    let live: BTreeSet<_> =
        entries(all).filter(|by| by.origin == LIVE).map(|by| by.target.as_str()).collect();
    let configured: BTreeSet<_> =
        entries(all).filter(|by| by.origin != LIVE).map(|by| by.list.as_str()).collect();
    let mut lines = Vec::new();
    if !live.is_empty() {
        let all_named = live.len() <= MOST_IN_A_COMMAND;
        let targets: Vec<_> = live.into_iter().take(MOST_IN_A_COMMAND).collect();
        let rest = if all_named { "" } else { ", and so on" };
        lines.push(format!("`filterd remove {}` unblocks all of it{rest}", targets.join(" ")));
    }
    if !configured.is_empty() {
        let names: Vec<_> = configured.into_iter().map(|name| format!("`{name}`")).collect();
        let (noun, verb) = if names.len() == 1 { ("list", "comes") } else { ("lists", "come") };
        lines.push(format!(
            "{noun} {} {verb} from the configuration: change it there, then `filterd reload`",
            names.join(", ")
        ));
    }
    // An older daemon tells only the names of the lists.
    let untold = all.iter().find(|held| held.by.is_empty());
    lines.extend(untold.map(|held| format!("`filterd test {}` names the entries", held.target)));
    lines.join("\n")
}

fn entries(all: &[Held]) -> impl Iterator<Item = &HeldBy> {
    all.iter().flat_map(|held| &held.by)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(target: &str, list: &str, origin: &str) -> HeldBy {
        HeldBy { target: target.into(), list: list.into(), origin: origin.into() }
    }

    fn holding(by: Vec<HeldBy>) -> [Held; 1] {
        let lists = by.iter().map(|by| by.list.clone()).collect();
        [Held { target: "198.51.100.77".into(), lists, by }]
    }

    #[test]
    fn a_live_prefix_around_an_address_is_named_with_the_command_that_works() {
        let all = holding(vec![by("198.51.100.0/24", "manual", "live")]);
        let told = "198.51.100.77 is still blocked: held by 198.51.100.0/24 of list `manual`";
        assert_eq!(held(&all), told);
        assert_eq!(remedies(&all), "`filterd remove 198.51.100.0/24` unblocks all of it");
    }

    #[test]
    fn a_configured_list_is_changed_in_the_configuration() {
        let all =
            holding(vec![by("198.51.100.77", "drop", "file"), by("198.51.100.0/25", "config", "config")]);
        let told = "198.51.100.77 is still blocked: held by list `drop`, 198.51.100.0/25 of list `config`";
        assert_eq!(held(&all), told);
        let remedy =
            "lists `config`, `drop` come from the configuration: change it there, then `filterd reload`";
        assert_eq!(remedies(&all), remedy);
    }

    #[test]
    fn a_daemon_that_knows_only_the_lists_is_understood() {
        let all = [Held { target: "192.0.2.1".into(), lists: vec!["drop".into()], by: vec![] }];
        assert_eq!(held(&all), "192.0.2.1 is still blocked: held by list `drop`");
        assert_eq!(remedies(&all), "`filterd test 192.0.2.1` names the entries");
    }

    #[test]
    fn of_very_many_ten_are_told() {
        let many = vec![holding(vec![by("198.51.100.0/24", "manual", "live")])[0].clone(); 50];
        assert_eq!(held(&many).lines().count(), 11);
        assert_eq!(remedies(&many).lines().count(), 1);
    }
}
