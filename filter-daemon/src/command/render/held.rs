//! Explains what still blocks a removed target, wholly or in part, and lists the commands that unblock it.

use std::collections::BTreeSet;

use filter_common::target::Target;

use super::entry::told_direction;
use super::figure::counted_as;
use super::remote as remote_list;
use crate::control::wire::entry::{HOST, LIVE, REMOTE};
use crate::control::wire::reload::then_reload;
use crate::control::wire::{Changed, Held, HeldBy, MOST_WITHIN};

/// Further targets that stay blocked are counted, but not shown.
const MOST_TOLD: usize = 10;

/// At most this many entries are named, because a hundred may be widened to one prefix.
const MOST_NAMED: usize = 10;

/// The maximum number of targets in a suggested command, so that it stays readable.
const MOST_IN_A_COMMAND: usize = 5;

/// The wording for targets that are still held, and the commands that help.
pub struct HeldWords {
    /// The state that the target is still in.
    state: &'static str,
    remove: &'static str,
    list: &'static str,
    /// The effect of a command that removes all entries of the target.
    frees: &'static str,
    /// How a change of the configuration is applied.
    then_reload: &'static str,
}

impl HeldWords {
    /// The wording for lists that allow.
    pub fn allowed(changed: &Changed) -> Self {
        let then_reload = then_reload(changed.on_trial_until.is_some());
        let (remove, list) = ("allow remove", "allow list");
        Self { state: "allowed", remove, list, frees: "removes all of it", then_reload }
    }

    /// The wording for lists that block. If nothing is dropped, nothing is blocked either.
    pub fn blocked(changed: &Changed) -> Self {
        let state = if changed.idle.is_none() { "blocked" } else { "listed" };
        let then_reload = then_reload(changed.on_trial_until.is_some());
        Self { state, remove: "remove", list: "list", frees: "unblocks all of it", then_reload }
    }
}

/// Lists each target with the entries that hold it, one a line, and below them the commands that unblock
/// it.
pub fn told(all: &[Held], words: &HeldWords) -> String {
    let mut lines: Vec<_> = all.iter().take(MOST_TOLD).flat_map(|held| one(held, words)).collect();
    if all.len() > MOST_TOLD {
        lines.push("and more: run `filterd test`".to_owned());
    }
    lines.extend(remedies(all, words));
    lines.join("\n")
}

fn one(held: &Held, words: &HeldWords) -> Vec<String> {
    // An allowed target is not blocked, even if entries hold it on some ports.
    let (state, allowed) = if held.allowed { ("listed", ", and allowed") } else { (words.state, "") };
    let (narrower, holders): (Vec<_>, Vec<_>) = held.by.iter().partition(|by| is_within(by, held));
    let ports: Option<BTreeSet<&str>> = holders.iter().map(|by| by.ports.as_deref()).collect();
    // Several entries together may leave no port open.
    let ports = ports.filter(|_| !held.ports.is_empty());
    let ports: Vec<_> = ports.unwrap_or_default().into_iter().collect();
    let named = |all: &[&HeldBy], is_told: bool| {
        let named = all.iter().take(MOST_NAMED).map(|by| entry(by, held, is_told));
        let named = named.collect::<Vec<_>>().join(", ");
        if all.len() > MOST_NAMED { format!("{named}, and more") } else { named }
    };
    let holders = match &held.by[..] {
        // An older daemon reports only the names of the lists.
        [] => held.lists.iter().map(|name| format!("list `{name}`")).collect::<Vec<_>>().join(", "),
        _ => named(&holders, ports.len() == 1),
    };
    let target = &held.target;
    let on = if ports.is_empty() { String::new() } else { format!(" {}", ports.join(", and ")) };
    let whole =
        (!holders.is_empty()).then(|| format!("{target} is still {state}{on}{allowed}: held by {holders}"));
    let part = (held.within > 0).then(|| {
        let is = if held.within == 1 { "is" } else { "are" };
        let more = if is_all_named(held) { "" } else { ", and so on" };
        format!(
            "{} within {target} {is} still {state}{allowed}: {}{more}",
            number(held.within),
            named(&narrower, false)
        )
    });
    whole.into_iter().chain(part).collect()
}

fn number(within: u64) -> String {
    let number = counted_as(within, ["entry", "entries"]);
    if within < MOST_WITHIN { number } else { format!("{number} or more") }
}

/// An entry, with the ports on which it blocks unless they are shown for all entries.
fn entry(by: &HeldBy, held: &Held, is_told: bool) -> String {
    let ports = by.ports.as_ref().filter(|_| !is_told).map(|ports| format!(" {ports}")).unwrap_or_default();
    let other = match &by.blocks {
        Some(wider) if by.target == held.target => String::new(),
        Some(wider) => format!("{} (blocks {wider}) of ", by.target),
        None if by.target == held.target => String::new(),
        None => format!("{} of ", by.target),
    };
    let direction = by.direction.as_deref().map(|word| format!(" ({})", told_direction(word)));
    format!("{other}list `{}`{ports}{}", by.list, direction.unwrap_or_default())
}

/// Returns whether this entry blocks only a part of the held target.
fn is_within(by: &HeldBy, held: &Held) -> bool {
    let blocks = by.blocks.as_ref().unwrap_or(&by.target);
    let covers = |wide: Target, narrow: Target| wide != narrow && wide.covers(&narrow);
    matches!((held.target.parse(), blocks.parse()), (Ok(wide), Ok(narrow)) if covers(wide, narrow))
}

fn is_all_named(held: &Held) -> bool {
    held.by.iter().filter(|by| is_within(by, held)).count() as u64 == held.within
}

/// The ways to unblock the held targets, one a line.
fn remedies(all: &[Held], words: &HeldWords) -> Vec<String> {
    let HeldWords { remove, list, frees, .. } = words;
    let live = |is_part: bool| -> BTreeSet<&str> {
        let of = move |held| parts(held).filter(move |(by, part)| by.origin == LIVE && *part == is_part);
        all.iter().flat_map(of).map(|(by, _)| by.target.as_str()).collect()
    };
    let (around, within) = (live(false), live(true));
    let untold = all.iter().find(|held| !is_all_named(held)).or(all.iter().find(|held| held.within > 0));
    let mut lines = Vec::new();
    if !around.is_empty() {
        let rest = if around.len() <= MOST_IN_A_COMMAND { "" } else { ", and so on" };
        let is_all = within.is_empty() && untold.is_none() && in_the_configuration(all, "").is_none();
        let does = if is_all { frees } else { "removes what was added around it" };
        let targets: Vec<_> = around.into_iter().take(MOST_IN_A_COMMAND).collect();
        lines.push(format!("`filterd {remove} {}` {does}{rest}", targets.join(" ")));
    }
    match untold {
        Some(held) if !within.is_empty() && (within.len() > MOST_IN_A_COMMAND || !is_all_named(held)) => {
            let target = &held.target;
            lines.push(format!(
                "`filterd {list} --within {target} | filterd {remove} -` removes what was added there"
            ));
        }
        Some(held) if !is_all_named(held) => {
            lines.push(format!("`filterd {list} --within {}` shows them", held.target));
        }
        _ if !within.is_empty() => {
            let targets: Vec<_> = within.into_iter().collect();
            lines.push(format!("`filterd {remove} {}` removes what was added there", targets.join(" ")));
        }
        _ => {}
    }
    lines.extend(in_the_configuration(all, words.then_reload));
    lines.extend(remote(all));
    let is_guarded = all.iter().flat_map(|held| &held.by).any(|by| by.origin == HOST);
    lines.extend(is_guarded.then(|| {
        "no option overrides the guard's list, but `filterd add` blocks servers of lists".to_owned()
    }));
    // An older daemon reports only the names of the lists.
    let unnamed = all.iter().find(|held| held.by.is_empty());
    lines.extend(unnamed.map(|held| format!("`filterd test {}` names the entries", held.target)));
    lines
}

fn in_the_configuration(all: &[Held], then_reload: &str) -> Option<String> {
    let is_configured = |by: &&HeldBy| ![LIVE, REMOTE, HOST].contains(&by.origin.as_str());
    let configured = all.iter().flat_map(|held| &held.by).filter(is_configured);
    let names: BTreeSet<_> = configured.map(|by| format!("`{}`", by.list)).collect();
    let (noun, verb) = if names.len() == 1 { ("list", "comes") } else { ("lists", "come") };
    let all = names.into_iter().collect::<Vec<_>>().join(", ");
    let change = || format!("{noun} {all} {verb} from the configuration: change it there, {then_reload}");
    (!all.is_empty()).then(change)
}

/// How to end the decisions of other systems.
fn remote(all: &[Held]) -> Option<String> {
    let remote: Vec<_> = all.iter().flat_map(|held| &held.by).filter(|by| by.origin == REMOTE).collect();
    let targets: BTreeSet<_> = remote.iter().map(|by| by.target.as_str()).collect();
    remote.first().map(|by| remote_list::end_decisions(targets, &by.list))
}

/// The entries that hold a target, each with whether it blocks only a part.
fn parts(held: &Held) -> impl Iterator<Item = (&HeldBy, bool)> {
    held.by.iter().map(|by| (by, is_within(by, held)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::Idle;

    fn blocked(is_dropped: bool) -> HeldWords {
        let idle = (!is_dropped).then_some(Idle::NotEnforced);
        HeldWords::blocked(&Changed { idle, ..Changed::default() })
    }

    fn by(target: &str, list: &str, origin: &str) -> HeldBy {
        HeldBy {
            target: target.into(),
            list: list.into(),
            origin: origin.into(),
            ports: None,
            blocks: None,
            direction: None,
        }
    }

    fn holding(by: Vec<HeldBy>) -> [Held; 1] {
        let lists = by.iter().map(|by| by.list.clone()).collect();
        let ports: Option<BTreeSet<_>> = by.iter().map(|by| by.ports.clone()).collect();
        let ports = ports.unwrap_or_default().into_iter().collect();
        [Held { target: "198.51.100.77".into(), lists, by, ports, ..Held::default() }]
    }

    #[test]
    fn live_prefix_is_shown_with_working_command() {
        let all = holding(vec![by("198.51.100.0/24", "manual", "live")]);
        let words = "198.51.100.77 is still blocked: held by 198.51.100.0/24 of list `manual`\n\
                     `filterd remove 198.51.100.0/24` unblocks all of it";
        assert_eq!(told(&all, &blocked(true)), words);
    }

    #[test]
    fn remedy_claims_no_unblocking_when_file_blocks() {
        let all = holding(vec![by("198.51.100.77", "drop", "file"), by("198.51.100.0/24", "ssh", "live")]);
        let words = told(&all, &blocked(true));
        assert!(
            words.contains("`filterd remove 198.51.100.0/24` removes what was added around it"),
            "{words}"
        );
    }

    #[test]
    fn a_configured_list_is_changed_in_the_configuration() {
        let all =
            holding(vec![by("198.51.100.77", "drop", "file"), by("198.51.100.0/25", "config", "config")]);
        let words = "198.51.100.77 is still blocked: held by list `drop`, 198.51.100.0/25 of list `config`\n\
                     lists `config`, `drop` come from the configuration: change it there, then `filterd reload`";
        assert_eq!(told(&all, &blocked(true)), words);
        assert!(told(&all, &blocked(false)).starts_with("198.51.100.77 is still listed: held by"));
    }

    #[test]
    fn partial_block_shows_its_ports() {
        let on = |target, list, ports: &str| HeldBy { ports: Some(ports.into()), ..by(target, list, "live") };
        let first = |by| told(&holding(by), &blocked(true)).lines().next().unwrap().to_owned();
        let ssh = on("198.51.100.0/24", "a", "on port 22 only");
        let words = "198.51.100.77 is still blocked on port 22 only: held by 198.51.100.0/24 of list `a`";
        assert_eq!(first(vec![ssh.clone()]), words);
        let words = "198.51.100.77 is still blocked on all but port 443, and on port 22 only: held by \
                     198.51.100.0/24 of list `a` on port 22 only, list `b` on all but port 443";
        assert_eq!(first(vec![ssh.clone(), on("198.51.100.77", "b", "on all but port 443")]), words);
        let mut all = holding(vec![ssh.clone(), on("198.51.100.77", "b", "on all but port 22")]);
        all[0].ports.clear();
        let words = "198.51.100.77 is still blocked: held by 198.51.100.0/24 of list `a` on port 22 only, list `b` on all \
                     but port 22";
        assert_eq!(
            told(&all, &blocked(true)).lines().next(),
            Some(words),
            "together they leave nothing open"
        );
        let words =
            "198.51.100.77 is still blocked: held by 198.51.100.0/24 of list `a` on port 22 only, list `b`";
        assert_eq!(first(vec![ssh, by("198.51.100.77", "b", "live")]), words);
        let mut part = within(&[("198.51.100.7", "manual")], 1);
        part[0].by[0].ports = Some("on port 22 only".into());
        let words =
            "1 entry within 198.51.100.0/24 is still blocked: 198.51.100.7 of list `manual` on port 22 only";
        assert_eq!(told(&part, &blocked(true)).lines().next(), Some(words));
    }

    #[test]
    fn allow_covers_all_ports() {
        let on_ports =
            HeldBy { ports: Some("on ports 22, 9999 only".into()), ..by("198.51.100.0/24", "a", "file") };
        let mut all = holding(vec![on_ports]);
        all[0].allowed = true;
        let words = "198.51.100.77 is still listed on ports 22, 9999 only, and allowed: held by 198.51.100.0/24 of list `a`";
        assert_eq!(told(&all, &blocked(true)).lines().next(), Some(words));
    }

    fn within(entries: &[(&str, &str)], within: u64) -> [Held; 1] {
        let origin = |list: &str| if list == "drop" { "file" } else { "live" };
        let by = entries.iter().map(|(target, list)| by(target, list, origin(list))).collect();
        [Held { target: "198.51.100.0/24".into(), within, ..holding(by)[0].clone() }]
    }

    #[test]
    fn entries_within_are_shown_with_removing_command() {
        let words = "1 entry within 198.51.100.0/24 is still blocked: 198.51.100.7 of list `manual`\n\
                     `filterd remove 198.51.100.7` removes what was added there";
        assert_eq!(told(&within(&[("198.51.100.7", "manual")], 1), &blocked(true)), words);
        let words = "198.51.100.0/24 is still blocked: held by 198.51.0.0/16 of list `drop`\n\
                     2 entries within 198.51.100.0/24 are still blocked: \
                     198.51.100.7 of list `manual`, 198.51.100.8/29 of list `drop`\n\
                     `filterd remove 198.51.100.7` removes what was added there\n\
                     list `drop` comes from the configuration: change it there, then `filterd reload`";
        let both = [("198.51.0.0/16", "drop"), ("198.51.100.7", "manual"), ("198.51.100.8/29", "drop")];
        assert_eq!(told(&within(&both, 2), &blocked(true)), words);
        let of_many = told(&within(&[("198.51.100.7", "manual")], MOST_WITHIN), &blocked(true));
        let words = "1,000 entries or more within 198.51.100.0/24 are still blocked: \
                     198.51.100.7 of list `manual`, and so on\n\
                     `filterd list --within 198.51.100.0/24 | filterd remove -` removes what was added there";
        assert_eq!(of_many, words);
        let of_files = told(&within(&[("198.51.100.7", "drop")], 7), &blocked(true));
        assert!(of_files.contains("\n`filterd list --within 198.51.100.0/24` shows them\n"), "{of_files}");
    }

    #[test]
    fn reply_of_older_daemon_is_understood() {
        let all = [Held { target: "192.0.2.1".into(), lists: vec!["drop".into()], ..Held::default() }];
        let words =
            "192.0.2.1 is still blocked: held by list `drop`\n`filterd test 192.0.2.1` names the entries";
        assert_eq!(told(&all, &blocked(true)), words);
    }

    #[test]
    fn ten_of_many_entries_are_shown() {
        let many = vec![holding(vec![by("198.51.100.0/24", "manual", "live")])[0].clone(); 50];
        assert_eq!(told(&many, &blocked(true)).lines().count(), 12);
    }
}
