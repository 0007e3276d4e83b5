//! `filterd stats`: shows how many packets passed or were dropped, and why.

use clap::Args;

use super::ask::trouble::CommandError;
use super::render::console::Console;
use super::render::figure::{count, headed};
use super::render::hits::how_counted;
use super::render::moment::Clock;
use crate::control::client::{Client, Endpoint};
use crate::control::wire::{
    self, Hits,
    stats::{Counted, OfList, OnInterface, Reply},
};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Stats {
    /// Show the counters of each list
    #[arg(long)]
    lists: bool,
}

impl Stats {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let stats = Client::connect(socket)?.call(&wire::Stats {})?;
        let clock = console.clock();
        let told = |stats: &Reply| if self.lists { of_lists(stats, &clock) } else { render(stats, &clock) };
        console.answer(&stats, told)?;
        Ok(Exit::Done)
    }
}

fn render(stats: &Reply, clock: &Clock) -> String {
    let total = |verdict: &str| {
        let rows = stats.reasons.iter().filter(|counted| counted.verdict == verdict);
        rows.map(|counted| counted.packets).sum::<u64>()
    };
    let (spared, paused) = (total("would_drop"), total("paused"));
    let passed = total("pass") + spared + paused;
    let mut summary = format!("{} packets dropped, {} passed", count(total("drop")), count(passed));
    if spared > 0 || !stats.enforce {
        summary += &format!(", {} of them only because of `enforce: false`", count(spared));
    }
    if paused > 0 {
        summary += &format!(", {} of them only because protection was paused", count(paused));
    }
    let is_told = |counted: &&Counted| match counted.verdict.as_str() {
        "would_drop" => counted.packets > 0 || !stats.enforce,
        "paused" => counted.packets > 0,
        _ => true,
    };
    if let Some(since) = stats.packets_since {
        summary += &format!(", since {} ({} ago)", clock.on_the_wall(since), clock.elapsed(since));
    }
    let rows: Vec<_> = stats.reasons.iter().filter(is_told).map(row).collect();
    let heads = ["verdict", "reason", "packets", "bytes", "what it says of a packet"];
    let mut text = format!("{summary}\n\n{}", headed(heads, [false, false, true, true, false], &rows));
    let rows: Vec<_> = stats.interfaces.iter().filter(|one| one.packets > 0).map(on_interface).collect();
    if !rows.is_empty() {
        let heads = ["interface", "verdict", "reason", "packets", "bytes"];
        text += &format!("\n{}", headed(heads, [false, false, false, true, true], &rows));
        text += "\nBytes are those of frames without the checksum behind them, as XDP sees them.\n";
    }
    text
}

/// A row for packets that were to be dropped on one interface.
fn on_interface(one: &OnInterface) -> [String; 5] {
    let OnInterface { interface, reason, verdict, packets, bytes } = one;
    let name = interface.clone().unwrap_or_else(|| "(others, or gone)".to_owned());
    [name, verdict.replace('_', " "), reason.clone(), count(*packets), count(*bytes)]
}

/// A table with one row for each list.
fn of_lists(stats: &Reply, clock: &Clock) -> String {
    let listed = stats.lists.iter().map(|OfList { list, since, hits }| {
        let since = if Some(*since) == stats.counted_since { String::new() } else { clock.since(*since) };
        of_list(list, hits, since)
    });
    let others = [("(other lists)", &stats.other), ("(lists that are gone)", &stats.gone)];
    let others =
        others.into_iter().filter_map(|(name, hits)| Some(of_list(name, hits.as_ref()?, String::new())));
    let rows: Vec<_> = listed.chain(others).collect();
    let heads = ["list", "dropped", "would drop", "paused", "replies", ""];
    let table = headed(heads, [false, true, true, true, true, false], &rows);
    let how = how_counted(stats.counted_since, None, None, clock);
    if rows.is_empty() { how } else { format!("{table}\n{how}") }
}

/// A row for one list. The cell of an outcome that never occurred is empty, so that its column may be left out.
fn of_list(name: &str, hits: &Hits, since: String) -> [String; 6] {
    let told = |packets: u64| if packets == 0 { String::new() } else { count(packets) };
    let Hits { dropped, would_drop, paused, replies } = hits;
    [name.to_owned(), count(*dropped), told(*would_drop), told(*paused), told(*replies), since]
}

fn row(counted: &Counted) -> [String; 5] {
    let Counted { reason, verdict, packets, bytes, meaning } = counted;
    let bytes = bytes.map(count).unwrap_or_default();
    [verdict.replace('_', " "), reason.clone(), count(*packets), bytes, meaning.clone()]
}

#[cfg(test)]
mod tests {
    use filter_common::reason::{Reason, Verdict};

    use super::*;

    /// A reply with this many packets of listed sources dropped, and this many not dropped.
    fn stats(enforce: bool, dropped: u64, spared: u64) -> Reply {
        let counted = |reason: &str, verdict: &str, packets, meaning: &str| Counted {
            reason: reason.into(),
            verdict: verdict.into(),
            packets,
            meaning: meaning.into(),
            bytes: None,
        };
        let reasons = vec![
            counted("listed", "drop", dropped, "it is on a list"),
            counted("unlisted", "pass", 1_000_000, "it is on none"),
            counted("listed", "would_drop", spared, "it is on a list"),
        ];
        let lists = Vec::new();
        Reply { version: 1, enforce, reasons, lists, ..Reply::default() }
    }

    const NOW: u64 = 1_795_296_480;

    fn render_now(stats: &Reply) -> String {
        render(stats, &Clock::standing(NOW))
    }

    #[test]
    fn drops_show_bytes_interface_and_start_time() {
        let mut stats = stats(true, 1204, 0);
        stats.packets_since = Some(NOW - 7200);
        stats.reasons[0].bytes = Some(72_240);
        let on = |interface: Option<&str>, packets| OnInterface {
            interface: interface.map(str::to_owned),
            reason: "listed".into(),
            verdict: "drop".into(),
            packets,
            bytes: packets * 60,
        };
        stats.interfaces = vec![on(Some("eth0"), 1200), on(Some("eth1"), 0), on(None, 4)];
        let expected = "\
1,204 packets dropped, 1,000,000 passed, since 19:28 (2 h ago)

verdict  reason      packets   bytes  what it says of a packet
drop     listed        1,204  72,240  it is on a list
pass     unlisted  1,000,000          it is on none

interface          verdict  reason  packets   bytes
eth0               drop     listed    1,200  72,000
(others, or gone)  drop     listed        4     240

Bytes are those of frames without the checksum behind them, as XDP sees them.
";
        assert_eq!(render_now(&stats), expected);
    }

    #[test]
    fn every_reason_has_a_row_with_meaning() {
        let expected = "\
1,204 packets dropped, 1,000,000 passed

verdict  reason      packets  what it says of a packet
drop     listed        1,204  it is on a list
pass     unlisted  1,000,000  it is on none
";
        assert_eq!(render_now(&stats(true, 1204, 0)), expected);
    }

    #[test]
    fn counting_filter_does_not_claim_drops() {
        let expected = "\
0 packets dropped, 1,000,007 passed, 7 of them only because of `enforce: false`

verdict     reason      packets  what it says of a packet
drop        listed            0  it is on a list
pass        unlisted  1,000,000  it is on none
would drop  listed            7  it is on a list
";
        assert_eq!(render_now(&stats(false, 0, 7)), expected);
        assert!(render_now(&stats(false, 0, 0)).contains(", 0 of them only because of"));
    }

    #[test]
    fn packets_passed_while_paused_are_separate() {
        let mut stats = stats(true, 5, 0);
        let paused = |packets| Counted {
            reason: "listed".into(),
            verdict: "paused".into(),
            packets,
            meaning: "it is on a list".into(),
            bytes: None,
        };
        stats.reasons.push(paused(0));
        assert!(!render_now(&stats).contains("paused"));
        stats.reasons.push(paused(3));
        let text = render_now(&stats);
        let summary = "5 packets dropped, 1,000,003 passed, 3 of them only because protection was paused\n";
        assert!(text.starts_with(summary), "{text}");
        assert!(text.contains("\npaused   listed            3"), "{text}");
    }

    #[test]
    fn each_list_has_row_and_needed_columns() {
        let of_list = |list: &str, since, dropped, paused| OfList {
            list: list.into(),
            since,
            hits: Hits { dropped, paused, ..Hits::default() },
        };
        let now = 1_795_296_480;
        let lists = vec![of_list("drop", now - 7200, 1204, 0), of_list("ssh", now - 60, 7, 3)];
        let gone = Some(Hits { dropped: 5, ..Hits::default() });
        let stats = Reply { counted_since: Some(now - 7200), lists, gone, ..stats(true, 1216, 0) };
        let expected = "\
list                   dropped  paused
drop                     1,204
ssh                          7       3  since 1 min ago
(lists that are gone)        5

A packet counts for the first list that has its entry. Prefixes of /24 and wider
are looked up before single addresses. Counted since 19:28 (2 h ago)
";
        assert_eq!(of_lists(&stats, &Clock::standing(now)), expected);
    }

    /// FAULTS T4: packets counted as dropped keep that meaning when `enforce` changes.
    #[test]
    fn dropped_and_would_drop_stay_separate() {
        for enforce in [false, true] {
            let text = render_now(&stats(enforce, 5, 7));
            assert!(text.starts_with("5 packets dropped, 1,000,007 passed, 7 of them only"), "{text}");
            assert!(text.contains("\ndrop        listed            5"), "{text}");
            assert!(text.contains("\nwould drop  listed            7"), "{text}");
        }
    }

    /// The reference and the program must have the same reasons.
    #[test]
    fn the_reference_explains_every_reason() {
        let reference = include_str!("../../../docs/reference/counters.md");
        for reason in Reason::ALL {
            let verdict = match reason.verdict() {
                Verdict::Pass(_) => "passes",
                Verdict::Drop(_) => "dropped",
            };
            let row = format!("| `{}` | {} | {verdict} |", reason.name(), reason.meaning());
            assert!(reference.contains(&row), "docs/reference/counters.md lacks this row:\n{row}");
        }
    }
}
