//! `filterd stats`: what became of how many packets.

use clap::Args;

use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::figure::{count, table};
use crate::control::client::{Client, Endpoint};
use crate::control::wire::{
    self,
    stats::{Counted, Reply},
};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Stats {}

impl Stats {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let stats = Client::connect(socket)?.call(&wire::Stats {})?;
        console.answer(&stats, render)?;
        Ok(Exit::Done)
    }
}

fn render(stats: &Reply) -> String {
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
    let rows: Vec<_> = stats.reasons.iter().filter(is_told).map(row).collect();
    format!("{summary}\n\n{}", table(&rows))
}

fn row(counted: &Counted) -> [String; 4] {
    let Counted { reason, verdict, packets, meaning } = counted;
    [verdict.replace('_', " "), reason.clone(), count(*packets), meaning.clone()]
}

#[cfg(test)]
mod tests {
    use filter_common::reason::{Reason, Verdict};

    use super::*;

    /// So many of listed sources were dropped, and so many were not.
    fn stats(enforce: bool, dropped: u64, spared: u64) -> Reply {
        let counted = |reason: &str, verdict: &str, packets, meaning: &str| Counted {
            reason: reason.into(),
            verdict: verdict.into(),
            packets,
            meaning: meaning.into(),
        };
        let reasons = vec![
            counted("listed", "drop", dropped, "it is on a list"),
            counted("unlisted", "pass", 1_000_000, "it is on none"),
            counted("listed", "would_drop", spared, "it is on a list"),
        ];
        Reply { version: 1, enforce, reasons }
    }

    #[test]
    fn every_reason_has_its_row_and_says_what_it_means() {
        let expected = "\
1,204 packets dropped, 1,000,000 passed

drop  listed        1,204  it is on a list
pass  unlisted  1,000,000  it is on none
";
        assert_eq!(render(&stats(true, 1204, 0)), expected);
    }

    #[test]
    fn a_filter_that_only_counts_does_not_claim_to_drop() {
        let expected = "\
0 packets dropped, 1,000,007 passed, 7 of them only because of `enforce: false`

drop        listed            0  it is on a list
pass        unlisted  1,000,000  it is on none
would drop  listed            7  it is on a list
";
        assert_eq!(render(&stats(false, 0, 7)), expected);
        assert!(render(&stats(false, 0, 0)).contains(", 0 of them only because of"));
    }

    #[test]
    fn what_passed_during_a_pause_is_told_apart() {
        let mut stats = stats(true, 5, 0);
        let paused = |packets| Counted {
            reason: "listed".into(),
            verdict: "paused".into(),
            packets,
            meaning: "it is on a list".into(),
        };
        stats.reasons.push(paused(0));
        assert!(!render(&stats).contains("paused"));
        stats.reasons.push(paused(3));
        let text = render(&stats);
        let summary = "5 packets dropped, 1,000,003 passed, 3 of them only because protection was paused\n";
        assert!(text.starts_with(summary), "{text}");
        assert!(text.contains("\npaused  listed            3"), "{text}");
    }

    /// FAULTS T4: what was counted stays what it was.
    #[test]
    fn what_was_dropped_and_what_was_only_counted_are_told_apart_later_too() {
        for enforce in [false, true] {
            let text = render(&stats(enforce, 5, 7));
            assert!(text.starts_with("5 packets dropped, 1,000,007 passed, 7 of them only"), "{text}");
            assert!(text.contains("\ndrop        listed            5"), "{text}");
            assert!(text.contains("\nwould drop  listed            7"), "{text}");
        }
    }

    /// The README's table of reasons is the program's own.
    #[test]
    fn the_readme_explains_every_reason() {
        let readme = include_str!("../../../README.md");
        for reason in Reason::ALL {
            let verdict = match reason.verdict() {
                Verdict::Pass(_) => "passes",
                Verdict::Drop(_) => "dropped",
            };
            let row = format!("| `{}` | {} | {verdict} |", reason.name(), reason.meaning());
            assert!(readme.contains(&row), "README.md lacks this row:\n{row}");
        }
    }
}
