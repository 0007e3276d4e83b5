//! Formats the answers of `filterd test` as text.

use super::remedy;
use crate::command::render::entry::direction;
use crate::command::render::moment::Clock;
use crate::control::wire::test::{Expired, Reply, Tested, TestedTo};
use crate::control::wire::{Entry, Idle};
use crate::text::printable;

/// Formats all answers, with their verdicts aligned.
pub fn all(all: &Reply, clock: &Clock) -> String {
    let width = all.tested.iter().map(|one| one.address.len()).max().unwrap_or(0);
    let paused = all.paused_until.map(|until| clock.at(until));
    let verdicts: String =
        all.tested.iter().map(|tested| one(tested, width, paused.as_deref(), clock)).collect();
    let is_dropped = all.tested.iter().any(|one| one.dropped || one.partly);
    let but = if all.replies_pass && is_dropped { REPLIES_PASS } else { "" };
    format!("{verdicts}{but}")
}

/// Printed once, below all answers.
const REPLIES_PASS: &str = "but replies to connections this host started pass (`match: new`)\n";

fn one(one: &Tested, width: usize, paused: Option<&str>, clock: &Clock) -> String {
    let mut because = one.because.iter().map(|by| entry(by, clock));
    let first = match because.len() {
        _ if !one.dropped => String::new(),
        0 if !one.within.is_empty() && one.ports.is_empty() => "by entries that block parts of it".to_owned(),
        // Each entry names its ports.
        _ if !one.ports.is_empty() => one.ports.join(", and "),
        _ => because.next().unwrap_or_default(),
    };
    let verdict = verdict(one, paused);
    let mut text = format!("{:<width$}  {}\n", one.address, format!("{verdict}{first}").trim_end());
    let allowed = one.allowed_by.iter().map(|by| format!("allowed {}", entry(by, clock)));
    let part = |by: &Entry| format!("a part {}", entry(by, clock));
    let allowed_part = |by: &Entry| format!("a part allowed {}", entry(by, clock));
    let parts = one.within.iter().map(part).chain(one.allowed_within.iter().map(allowed_part));
    let more = one.more.then(|| format!("and more: `filterd list --within {}`", one.address));
    let to = one.to.iter().flat_map(|to| packets_to(to, one, clock));
    for line in allowed.chain(because).chain(parts).chain(to).chain(more).chain(beside(one)) {
        text.push_str(&format!("{:<width$}           {line}\n", ""));
    }
    text
}

/// Describes what becomes of packets to a target.
fn packets_to(to: &TestedTo, one: &Tested, clock: &Clock) -> Vec<String> {
    let verdict = match (to.dropped, to.partly) {
        (true, _) => "packets to it are DROPPED",
        (false, true) => "packets to a part of it are dropped",
        (false, false) if !one.allowed_by.is_empty() => "packets to it pass: listed, but allowed",
        (false, false) => "packets to it pass, although listed (see `filterd status`)",
    };
    // Entries for both directions stand above.
    let only_to = |by: &&Entry| by.direction.as_deref() == Some("out");
    let entries = to.because.iter().filter(only_to).map(|by| entry(by, clock));
    let parts = to.within.iter().filter(only_to).map(|by| format!("a part {}", entry(by, clock)));
    [verdict.to_owned()].into_iter().chain(entries).chain(parts).collect()
}

fn verdict(one: &Tested, paused: Option<&str>) -> String {
    let is_listed = !one.because.is_empty() || !one.within.is_empty();
    let verdict = match (one.dropped, is_listed, one.idle) {
        (true, ..) => "DROPPED  ",
        (false, ..) if one.partly => "PARTLY   a part of it is dropped",
        (false, false, _) if !one.allowed_by.is_empty() && one.to.is_none() => {
            "passes   only lists that allow contain it"
        }
        (false, true, _) if !one.allowed_by.is_empty() => "passes   listed, but allowed",
        (false, false, _) if one.to.is_some() => "passes   packets from it are not listed",
        (false, false, _) => "passes   not listed",
        (_, _, Some(Idle::NothingAttached)) => {
            "passes   listed, but filterd is attached to no interface (`filterd status` shows why)"
        }
        (_, _, Some(Idle::Paused)) => {
            let until = paused.unwrap_or("now");
            return format!("passes   listed, but protection is paused until {until}: it is only counted");
        }
        (_, _, Some(Idle::NotEnforced)) => "passes   listed, but `enforce: false`: it is only counted",
        (false, true, None) if one.disagrees.is_some() => "passes   although listed",
        (false, true, None) if one.because.is_empty() => "passes   the listed part of it is allowed",
        (false, true, None) => "passes   although listed (see `filterd status`)",
    };
    verdict.to_owned()
}

/// Describes further facts about a target.
fn beside(one: &Tested) -> Vec<String> {
    let names: Vec<_> = one.except.iter().map(|name| printable::on_one_line(name)).collect();
    let except = ((one.dropped || one.partly) && !names.is_empty()).then(|| {
        format!("but not on {}, which is not filtered (`filterd status` shows why)", names.join(", "))
    });
    let expired = one.expired.iter().map(|over| {
        let Expired { list, target, allows } = over;
        let named = if *allows { " as allowed" } else { "" };
        format!("list `{list}` still contains {target}{named}, but it has expired there (`ttl:`)")
    });
    let disagrees = one.disagrees.as_ref().map(|address| {
        format!(
            "THE KERNEL AND THE BLOCKLIST DISAGREE about {address}: the kernel's answer is shown; please report it (a restart, or `filterd --take-over`, rebuilds the tables)"
        )
    });
    let remedies = lines(&one.remedies).into_iter().enumerate().map(|(number, remedy)| match number {
        0 if one.allowed_by.is_empty() && !remedy::passes_as_allowed(one) => {
            format!("to unblock it: {remedy}")
        }
        0 => remedy,
        _ => format!("               {remedy}"),
    });
    except.into_iter().chain(expired).chain(disagrees).chain(remedies).collect()
}

/// The lines of remedies. Those that are needed together are indented below their heading.
fn lines(remedies: &[String]) -> Vec<String> {
    let Some(heading) = remedies.iter().position(|remedy| remedy.starts_with(remedy::EACH)) else {
        return remedies.to_vec();
    };
    let (alone, together) = remedies.split_at(heading);
    let each = together.iter().map(|remedy| format!("  {}", remedy.trim_start_matches(remedy::EACH)));
    alone.iter().cloned().chain([remedy::EACH.trim_end().to_owned()]).chain(each).collect()
}

fn entry(entry: &Entry, clock: &Clock) -> String {
    let by = entry.by.as_ref().map(|by| format!(", added by {by}")).unwrap_or_default();
    let note = entry.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let (since, until) = (clock.of(entry), clock.until(entry.until));
    let target = match &entry.blocks {
        Some(wider) => format!("{} (blocks {wider})", entry.target),
        None => entry.target.clone(),
    };
    let ports = entry.ports.as_deref().or_else(|| direction(entry));
    let ports = ports.map(|words| format!(" ({words})")).unwrap_or_default();
    format!("by {target} of list `{}`{ports}, {since}, {until}{by}{note}", entry.list)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NOW is 2026-11-21 21:28:00 UTC.
    const NOW: u64 = 1_795_296_480;

    #[test]
    fn the_answer_names_every_entry_with_its_times() {
        let entry = |target: &str, list: &str, since, until, note: Option<&str>| Entry {
            target: target.into(),
            list: list.into(),
            since,
            until,
            note: note.map(str::to_owned),
            by: note.map(|_| "root (filterd add)".to_owned()),
            ..Entry::default()
        };
        let because = vec![
            entry("203.0.113.7", "manual", NOW - 7200, Some(NOW + 720), Some("brute force")),
            entry("203.0.113.0/24", "drop", NOW - 3 * 86_400, None, None),
        ];
        let tested = vec![
            Tested { address: "203.0.113.7".into(), dropped: true, because, ..Tested::default() },
            Tested { address: "192.0.2.1".into(), ..Tested::default() },
        ];
        let expected = "\
203.0.113.7  DROPPED  by 203.0.113.7 of list `manual`, since 2 h ago, expires 21:40 (in 12 min), added by root (filterd add): brute force
                      by 203.0.113.0/24 of list `drop`, since 3 d ago, permanent
192.0.2.1    passes   not listed
";
        assert_eq!(all(&Reply { tested, ..Reply::default() }, &Clock::standing(NOW)), expected);
    }

    #[test]
    fn reply_exception_is_shown_once_for_drops() {
        let told = |dropped| {
            let one = Tested { address: "203.0.113.7".into(), dropped, ..Tested::default() };
            let tested = vec![one.clone(), one];
            all(&Reply { tested, replies_pass: true, ..Reply::default() }, &Clock::standing(NOW))
        };
        assert_eq!(told(true).matches(REPLIES_PASS).count(), 1);
        assert!(told(true).ends_with(REPLIES_PASS) && !told(false).contains("answers"));
    }

    #[test]
    fn drop_on_some_ports_names_them() {
        let entry = Entry {
            target: "203.0.113.0/24".into(),
            list: "ssh".into(),
            since: NOW - 7200,
            or_before: false,
            until: None,
            note: None,
            by: None,
            origin: None,
            ports: Some("on port 22 only".into()),
            direction: None,
            blocks: None,
        };
        let tested = Tested {
            address: "203.0.113.7".into(),
            dropped: true,
            ports: vec!["on port 22 only".into()],
            because: vec![entry],
            ..Tested::default()
        };
        let expected = "\
203.0.113.7  DROPPED  on port 22 only
                      by 203.0.113.0/24 of list `ssh` (on port 22 only), since 2 h ago, permanent
";
        assert_eq!(all(&Reply { tested: vec![tested], ..Reply::default() }, &Clock::standing(NOW)), expected);
    }

    #[test]
    fn listed_and_allowed_target_names_both() {
        let entry = |target: &str, list: &str, until| Entry {
            target: target.into(),
            list: list.into(),
            since: NOW - 7200,
            until,
            ..Entry::default()
        };
        let tested = |because| Tested {
            address: "203.0.113.7".into(),
            because,
            allowed_by: vec![entry("203.0.113.0/28", "manual-allow", Some(NOW + 720))],
            ..Tested::default()
        };
        let listed = tested(vec![entry("203.0.113.0/24", "drop", None)]);
        let expected = "\
203.0.113.7  passes   listed, but allowed
                      allowed by 203.0.113.0/28 of list `manual-allow`, since 2 h ago, expires 21:40 (in 12 min)
                      by 203.0.113.0/24 of list `drop`, since 2 h ago, permanent
203.0.113.7  passes   only lists that allow contain it
                      allowed by 203.0.113.0/28 of list `manual-allow`, since 2 h ago, expires 21:40 (in 12 min)
";
        let both = Reply { tested: vec![listed, tested(vec![])], ..Reply::default() };
        assert_eq!(all(&both, &Clock::standing(NOW)), expected);
    }

    #[test]
    fn listed_but_passing_target_says_so() {
        let because =
            vec![Entry { target: "192.0.2.1".into(), list: "drop".into(), since: NOW, ..Entry::default() }];
        let told = |idle| {
            let tested = vec![Tested {
                address: "192.0.2.1".into(),
                idle,
                because: because.clone(),
                ..Tested::default()
            }];
            all(&Reply { tested, ..Reply::default() }, &Clock::standing(NOW))
        };
        assert!(
            told(Some(Idle::NothingAttached))
                .starts_with("192.0.2.1  passes   listed, but filterd is attached to no interface")
        );
        assert!(
            told(Some(Idle::NotEnforced)).starts_with("192.0.2.1  passes   listed, but `enforce: false`")
        );
        // An older daemon does not report the reason.
        let text = told(None);
        assert!(text.starts_with("192.0.2.1  passes   although listed"), "{text}");
        assert!(
            text.contains("\n                    by 192.0.2.1 of list `drop`, since just now, permanent\n"),
            "{text}"
        );
    }

    #[test]
    fn prefix_answer_shows_dropped_share() {
        let entry = |target: &str, list: &str| Entry {
            target: target.into(),
            list: list.into(),
            since: NOW,
            ..Entry::default()
        };
        let prefix = Tested { address: "203.0.113.0/24".into(), ..Tested::default() };
        let within = vec![entry("203.0.113.7", "sshd")];
        let partly = Tested { partly: true, within, more: true, ..prefix.clone() };
        let halves = vec![entry("203.0.113.0/25", "a"), entry("203.0.113.128/25", "b")];
        let together = Tested { dropped: true, within: halves, ..prefix.clone() };
        let not = Tested { allowed_by: vec![entry("203.0.112.0/23", "partners")], ..prefix };
        let expected = "\
203.0.113.0/24  PARTLY   a part of it is dropped
                         a part by 203.0.113.7 of list `sshd`, since just now, permanent
                         and more: `filterd list --within 203.0.113.0/24`
203.0.113.0/24  DROPPED  by entries that block parts of it
                         a part by 203.0.113.0/25 of list `a`, since just now, permanent
                         a part by 203.0.113.128/25 of list `b`, since just now, permanent
203.0.113.0/24  passes   only lists that allow contain it
                         allowed by 203.0.112.0/23 of list `partners`, since just now, permanent
";
        let reply = Reply { tested: vec![partly, together, not], ..Reply::default() };
        assert_eq!(all(&reply, &Clock::standing(NOW)), expected);
    }

    #[test]
    fn mismatches_and_expiries_are_shown_with_advice() {
        let over =
            |target: &str, list: &str, allows| Expired { target: target.into(), list: list.into(), allows };
        let expired = vec![over("192.0.2.1", "seen", false), over("192.0.2.0/24", "partners", true)];
        let remedies = vec!["`filterd remove 192.0.2.1`".to_owned()];
        let disagrees = Some("192.0.2.1".to_owned());
        let one = Tested { address: "192.0.2.1".into(), expired, disagrees, remedies, ..Tested::default() };
        let expected = "\
192.0.2.1  passes   not listed
                    list `seen` still contains 192.0.2.1, but it has expired there (`ttl:`)
                    list `partners` still contains 192.0.2.0/24 as allowed, but it has expired there (`ttl:`)
                    THE KERNEL AND THE BLOCKLIST DISAGREE about 192.0.2.1: the kernel's answer is shown; please report it (a restart, or `filterd --take-over`, rebuilds the tables)
                    to unblock it: `filterd remove 192.0.2.1`
";
        assert_eq!(all(&Reply { tested: vec![one], ..Reply::default() }, &Clock::standing(NOW)), expected);
    }
}
