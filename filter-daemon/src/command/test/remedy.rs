//! Finds out how a target could pass: the commands that remove entries added by commands, and the places
//! from which to remove those of the configuration.

use std::collections::BTreeSet;

use filter_common::target::Target;

use crate::command::render::remote;
use crate::control::wire::Entry;
use crate::control::wire::entry::{LIVE, REMOTE};
use crate::control::wire::reload::then_reload;
use crate::control::wire::test::Tested;

/// The maximum number of targets in a suggested command, so that it stays readable.
const MOST_IN_A_COMMAND: usize = 20;

/// Begins the first of several remedies that unblock the target only together. As text, it is a line of its own.
pub const EACH: &str = "or remove each of these entries: ";

/// All remedies, one a line. The one that changes least comes first. The others then end all that blocks
/// the target, and together they unblock it. While a reload is on trial, no other reload is accepted.
pub fn all(one: &Tested, is_on_trial: bool) -> Vec<String> {
    let one = &with_destinations(one);
    if one.because.is_empty() && one.within.is_empty() {
        return Vec::new();
    }
    if !one.allowed_by.is_empty() {
        return allowed(one);
    }
    if passes_as_allowed(one) {
        let targets: BTreeSet<_> = one.allowed_within.iter().map(|entry| entry.target.as_str()).collect();
        return again(&one.allowed_within, targets, "the listed part of it").into_iter().collect();
    }
    let (live, configured): (Vec<_>, Vec<_>) =
        one.because.iter().chain(&one.within).partition(|entry| entry.origin.as_deref() == Some(LIVE));
    let mut lines: Vec<_> = removal(one, &live).into_iter().collect();
    let out_of: BTreeSet<_> =
        configured.iter().map(|entry| taken_out(one, entry, then_reload(is_on_trial))).collect();
    lines.extend(out_of);
    if one.more && !one.within.is_empty() {
        lines.push(format!("then run `filterd test {}` again: more entries block a part of it", one.address));
    }
    let widest = one.because.iter().any(|entry| is_wider(entry, &one.address));
    if !one.because.is_empty() && (widest || !configured.is_empty()) {
        let pass = if widest { "it alone pass" } else { "it pass, whatever blocks it" };
        let or = if lines.len() > 1 { EACH } else { "or remove what blocks it: " };
        if let Some(first) = lines.first_mut() {
            first.insert_str(0, or);
        }
        lines.insert(0, format!("`filterd allow add {}` lets {pass}", one.address));
    }
    lines
}

/// The same with all entries, whether they block packets from the target or to it.
fn with_destinations(one: &Tested) -> Tested {
    let mut all = one.clone();
    // Entries for both directions are there already.
    let is_missing = |entry: &&Entry| entry.direction.as_deref() == Some("out");
    if let Some(to) = &one.to {
        all.because.extend(to.because.iter().filter(is_missing).cloned());
        all.within.extend(to.within.iter().filter(is_missing).cloned());
    }
    all
}

/// The remedy for an allowed target: it, or a part of it, would be dropped again, unless another entry such
/// as the guard's allows it.
fn allowed(one: &Tested) -> Vec<String> {
    let targets: BTreeSet<_> = one.allowed_by.iter().map(|entry| entry.target.as_str()).collect();
    let what = if one.allowed_within.is_empty() { "it" } else { "the rest of it" };
    again(&one.allowed_by, targets, what).into_iter().collect()
}

/// Returns whether a prefix passes completely because all listed parts of it are allowed.
pub fn passes_as_allowed(one: &Tested) -> bool {
    let passes = !one.dropped && !one.partly && one.idle.is_none();
    passes && one.because.is_empty() && !one.allowed_within.is_empty()
}

fn again(by: &[Entry], targets: BTreeSet<&str>, what: &str) -> Option<String> {
    let is_live = |entry: &Entry| entry.origin.as_deref() == Some(LIVE);
    if !by.iter().all(is_live) || targets.len() > MOST_IN_A_COMMAND {
        return None;
    }
    let targets = targets.into_iter().collect::<Vec<_>>().join(" ");
    Some(format!("`filterd allow remove {targets}` would drop {what} again"))
}

fn removal(one: &Tested, live: &[&Entry]) -> Option<String> {
    let targets: BTreeSet<_> = live.iter().map(|entry| entry.target.as_str()).collect();
    if targets.is_empty() {
        return None;
    }
    // All of it is in a list that is too long, or that was not reported to its end.
    if (one.more && !one.within.is_empty()) || targets.len() > MOST_IN_A_COMMAND {
        let address = &one.address;
        // Entries that are widened to this prefix lie within it, and are listed there.
        let asked = address.parse().ok();
        let lies_within = |entry: &Entry| {
            asked
                .zip(entry.target.parse().ok())
                .is_some_and(|(asked, own): (Target, Target)| asked != own && asked.covers(&own))
        };
        let around =
            one.because.iter().filter(|entry| entry.origin.as_deref() == Some(LIVE) && !lies_within(entry));
        let around: BTreeSet<_> = around.map(|entry| format!(" {}", entry.target)).collect();
        let around = around.into_iter().collect::<String>();
        let first = if around.is_empty() { String::new() } else { format!("`filterd remove{around}`, and ") };
        return Some(format!("{first}`filterd list --within {address} | filterd remove -`"));
    }
    let wider: BTreeSet<_> = live.iter().filter_map(|entry| beyond(entry, &one.address)).collect();
    let told = if wider.is_empty() {
        String::new()
    } else {
        let wider = wider.into_iter().collect::<Vec<_>>().join(" and ");
        // Warns that addresses outside the requested target are unblocked too.
        format!("; this unblocks all of {wider}, except what other entries block")
    };
    Some(format!("`filterd remove {}`{told}", targets.into_iter().collect::<Vec<_>>().join(" ")))
}

fn taken_out(one: &Tested, entry: &Entry, then_reload: &str) -> String {
    let Entry { target, list, .. } = entry;
    if entry.origin.as_deref() == Some(REMOTE) {
        return remote::end_decisions([target.as_str()], list);
    }
    let place = match one.files.iter().find(|file| file.list == *list) {
        // A fetched list is published by others, so the user cannot edit it.
        Some(file) if file.path.contains("://") => {
            return format!("remove list `{list}`, which is fetched, from the configuration, {then_reload}");
        }
        Some(file) => format!("{} (list `{list}`)", file.path),
        None => "`block:` in the configuration".to_owned(),
    };
    format!("remove {target} from {place}, {then_reload}")
}

fn is_wider(entry: &Entry, asked: &str) -> bool {
    beyond(entry, asked).is_some()
}

/// The wider prefix that also passes once this entry is removed, if there is one.
fn beyond<'a>(entry: &'a Entry, asked: &str) -> Option<&'a str> {
    let blocks = entry.blocks.as_deref().unwrap_or(&entry.target);
    let (wide, asked): (Target, Target) = (blocks.parse().ok()?, asked.parse().ok()?);
    (wide != asked && wide.covers(&asked)).then_some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::test::File;

    fn all(one: &Tested) -> Vec<String> {
        super::all(one, false)
    }

    fn entry(target: &str, list: &str, origin: &str) -> Entry {
        Entry {
            target: target.into(),
            list: list.into(),
            since: 0,
            origin: Some(origin.into()),
            ..Entry::default()
        }
    }

    fn tested(because: Vec<Entry>) -> Tested {
        Tested { address: "203.0.113.7".into(), dropped: true, because, ..Tested::default() }
    }

    #[test]
    fn live_entry_is_removed_by_one_command() {
        let own = entry("203.0.113.7", "sshd", "live");
        assert_eq!(all(&tested(vec![own.clone()])), ["`filterd remove 203.0.113.7`"]);
        let wider = entry("203.0.113.0/24", "manual", "live");
        assert_eq!(
            all(&tested(vec![own, wider])),
            [
                "`filterd allow add 203.0.113.7` lets it alone pass",
                "or remove what blocks it: `filterd remove 203.0.113.0/24 203.0.113.7`; this unblocks all of 203.0.113.0/24, except what other entries block",
            ]
        );
        assert_eq!(all(&tested(Vec::new())), [""; 0]);
    }

    #[test]
    fn configured_entry_names_place_to_edit() {
        let because = vec![entry("203.0.113.7", "config", "config"), entry("203.0.113.7", "drop", "file")];
        let files = vec![File { list: "drop".into(), path: "/etc/filterd/lists/drop.txt".into() }];
        assert_eq!(
            all(&Tested { files, ..tested(because) }),
            [
                "`filterd allow add 203.0.113.7` lets it pass, whatever blocks it",
                "or remove each of these entries: remove 203.0.113.7 from /etc/filterd/lists/drop.txt (list `drop`), then `filterd reload`",
                "remove 203.0.113.7 from `block:` in the configuration, then `filterd reload`",
            ]
        );
    }

    #[test]
    fn trial_remedies_start_with_confirm_or_rollback() {
        let told = super::all(&tested(vec![entry("203.0.113.7", "config", "config")]), true);
        let words = "or remove what blocks it: remove 203.0.113.7 from `block:` in the configuration, then `filterd confirm` or \
                     `filterd rollback`, since a reload is on trial, and `filterd reload`";
        assert_eq!(told[1], words);
    }

    #[test]
    fn widened_entry_is_removed_as_given() {
        let blocks = Some("2001:db8::/64".to_owned());
        let because = vec![Entry { blocks, ..entry("2001:db8::1", "sshd", "live") }];
        let tested = Tested { address: "2001:db8::7".into(), ..tested(because) };
        assert_eq!(
            all(&tested)[1],
            "or remove what blocks it: `filterd remove 2001:db8::1`; this unblocks all of 2001:db8::/64, except what other entries block"
        );
    }

    #[test]
    fn many_entries_are_removed_as_a_list() {
        let within = vec![entry("203.0.113.7", "sshd", "live")];
        let prefix = Tested { address: "203.0.113.0/24".into(), partly: true, within, ..Tested::default() };
        assert_eq!(all(&prefix), ["`filterd remove 203.0.113.7`"]);
        let more = Tested { more: true, ..prefix };
        let again = "then run `filterd test 203.0.113.0/24` again: more entries block a part of it";
        assert_eq!(all(&more), ["`filterd list --within 203.0.113.0/24 | filterd remove -`", again]);
    }

    #[test]
    fn allowed_target_has_no_unblocking_remedy() {
        let within = vec![entry("203.0.113.7", "drop", "file")];
        let allowed_within = vec![entry("203.0.113.7", "manual-allow", "live")];
        let address = "203.0.113.0/24".into();
        let tested = Tested { address, within, allowed_within, ..Tested::default() };
        let words = "`filterd allow remove 203.0.113.7` would drop the listed part of it again";
        assert_eq!(all(&tested), [words]);
        let partly = Tested { partly: true, ..tested };
        assert!(all(&partly)[0].starts_with("remove 203.0.113.7 from"));
    }

    #[test]
    fn allowed_target_shows_how_to_end_it() {
        let because = vec![entry("203.0.113.0/24", "drop", "file")];
        let allowed_by = vec![entry("203.0.113.7", "manual-allow", "live")];
        let tested = Tested { dropped: false, allowed_by, ..tested(because) };
        assert_eq!(all(&tested), ["`filterd allow remove 203.0.113.7` would drop it again"]);
        let own = entry("203.0.113.7", "guard", "host");
        let guarded =
            Tested { allowed_by: vec![tested.allowed_by[0].clone(), own.clone()], ..tested.clone() };
        assert_eq!(all(&guarded), [""; 0], "no command has it dropped");
        let around = Tested { allowed_within: vec![own], ..tested };
        assert_eq!(all(&around), ["`filterd allow remove 203.0.113.7` would drop the rest of it again"]);
    }
}
