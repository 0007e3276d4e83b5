//! `filterd stats`: what became of how many packets.

use std::path::Path;

use clap::Args;

use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::figure::{count, table};
use crate::control::client::Client;
use crate::control::wire::{
    self,
    stats::{Counted, Reply},
};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Stats {}

impl Stats {
    pub fn execute(&self, socket: &Path, console: &mut Console) -> Result<Exit, Trouble> {
        let stats = Client::connect(socket)?.call(&wire::Stats {})?;
        console.answer(&stats, render)?;
        Ok(Exit::Done)
    }
}

fn render(stats: &Reply) -> String {
    let row = |counted: &Counted| {
        let verdict = match counted.verdict.as_str() {
            "drop" if !stats.enforce => "would drop".to_owned(),
            verdict => verdict.to_owned(),
        };
        [verdict, counted.reason.clone(), count(counted.packets)]
    };
    let total = |verdict: &str| {
        let rows = stats.reasons.iter().filter(|counted| counted.verdict == verdict);
        count(rows.map(|counted| counted.packets).sum())
    };
    let dropped = if stats.enforce { "dropped" } else { "would have been dropped (`enforce: false`)" };
    let summary = format!("{} packets {dropped}, {} passed", total("drop"), total("pass"));
    let rows: Vec<_> = stats.reasons.iter().map(row).collect();
    format!("{summary}\n\n{}", table(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(enforce: bool) -> Reply {
        let counted = |reason: &str, verdict: &str, packets| Counted {
            reason: reason.into(),
            verdict: verdict.into(),
            packets,
        };
        let reasons = vec![counted("listed", "drop", 1204), counted("unlisted", "pass", 1_000_000)];
        Reply { version: 1, enforce, reasons }
    }

    #[test]
    fn every_reason_has_its_row() {
        let expected = "\
1,204 packets dropped, 1,000,000 passed

drop  listed        1,204
pass  unlisted  1,000,000
";
        assert_eq!(render(&stats(true)), expected);
    }

    #[test]
    fn a_filter_that_only_counts_does_not_claim_to_drop() {
        let text = render(&stats(false));
        assert!(text.starts_with("1,204 packets would have been dropped (`enforce: false`)"), "{text}");
        assert!(text.contains("would drop  listed"), "{text}");
    }
}
