//! Frames that end too early, at every byte: what cannot be read passes.

use std::ops::RangeInclusive;

use filter_common::reason::Reason::{self, Address4, Malformed, Other6};
use harness::{ATTACKER, ATTACKER6, Frame};

use crate::judges::{Case, SHORTEST, agree};

#[test]
fn ipv4_header_must_be_complete() {
    for tags in 0..=4 {
        let end = 14 + 4 * tags + 20;
        agree(&[ATTACKER], cuts(ATTACKER, tags, SHORTEST..=end - 1, Malformed, "within the headers"));
        agree(&[ATTACKER], cuts(ATTACKER, tags, end..=end + 16, Address4, "behind the IPv4 header"));
    }
}

#[test]
fn ipv6_header_must_be_complete() {
    for tags in 0..=4 {
        let end = 14 + 4 * tags + 40;
        agree(&[ATTACKER6], cuts(ATTACKER6, tags, SHORTEST..=end - 1, Malformed, "within the headers"));
        agree(&[ATTACKER6], cuts(ATTACKER6, tags, end..=end + 16, Other6, "behind the IPv6 header"));
    }
}

fn cuts(
    source: &str,
    tags: usize,
    lengths: RangeInclusive<usize>,
    reason: Reason,
    why: &'static str,
) -> impl Iterator<Item = Case> {
    let whole = (0..tags).fold(Frame::from(source), |frame, _| frame.vlan(7));
    lengths.map(move |length| (whole.clone().cut_at(length), reason, why))
}
