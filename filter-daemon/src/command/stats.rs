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
    let row = |counted: &Counted| {
        let verdict = match counted.verdict.as_str() {
            "drop" if !stats.enforce => "would drop".to_owned(),
            verdict => verdict.to_owned(),
        };
        [verdict, counted.reason.clone(), count(counted.packets), meaning(&counted.reason).to_owned()]
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

/// What a reason means, in words.
fn meaning(reason: &str) -> &'static str {
    match reason {
        "unlisted" => "the source is on no list",
        "not_ip" => "neither IPv4 nor IPv6, such as ARP",
        "malformed" => "too short, or its header contradicts itself: the kernel judges it",
        "too_many_tags" => "more VLAN tags than filterd looks behind",
        "ipv4_address" => "the source address is listed",
        "ipv4_prefix" => "an IPv4 prefix around the source is listed, /24 or wider",
        "ipv6_64" => "the /64 of the source is listed",
        "ipv6_other" => "the source, or another prefix around it, is listed",
        "neighbour" => "the source is listed, but this is neighbour discovery, which always passes",
        // A daemon may be newer than this command.
        _ => "",
    }
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
        let reasons = vec![counted("ipv4_address", "drop", 1204), counted("unlisted", "pass", 1_000_000)];
        Reply { version: 1, enforce, reasons }
    }

    #[test]
    fn every_reason_has_its_row() {
        let expected = "\
1,204 packets dropped, 1,000,000 passed

drop  ipv4_address      1,204  the source address is listed
pass  unlisted      1,000,000  the source is on no list
";
        assert_eq!(render(&stats(true)), expected);
    }

    #[test]
    fn every_reason_is_explained() {
        for reason in filter_common::reason::Reason::ALL {
            assert!(!meaning(reason.name()).is_empty(), "{} is explained nowhere", reason.name());
        }
    }

    #[test]
    fn a_filter_that_only_counts_does_not_claim_to_drop() {
        let text = render(&stats(false));
        assert!(text.starts_with("1,204 packets would have been dropped (`enforce: false`)"), "{text}");
        assert!(text.contains("would drop  ipv4_address"), "{text}");
    }
}
