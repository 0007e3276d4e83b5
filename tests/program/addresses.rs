//! Single addresses: that one, and no other, however much it looks like it.

use std::net::IpAddr;

use filter_common::reason::Reason::{Address4, Other6, Unlisted};
use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame};

use crate::judges::{Case, agree};

#[test]
fn empty_blocklist_drops_nothing() {
    agree(
        &[""; 0],
        ["0.0.0.0", "255.255.255.255", ATTACKER, "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ATTACKER6]
            .map(|source| (source.into(), Unlisted, "nobody is listed")),
    );
}

#[test]
fn a_listed_address_is_dropped() {
    agree(
        &[ATTACKER, ATTACKER6],
        [
            (ATTACKER.into(), Address4, "it is listed"),
            (ATTACKER6.into(), Other6, "it is listed"),
            (BYSTANDER.into(), Unlisted, "it is not"),
            (BYSTANDER6.into(), Unlisted, "it is not"),
            ("7.113.0.203".into(), Unlisted, "the same bytes in the other order"),
            ("::203.0.113.7".into(), Unlisted, "an IPv4 address within IPv6 is another address"),
            ("::ffff:203.0.113.7".into(), Unlisted, "and so is a mapped one"),
            (Frame::from(BYSTANDER).to(ATTACKER), Unlisted, "a packet to it is not from it"),
            (Frame::from(BYSTANDER6).to(ATTACKER6), Unlisted, "a packet to it is not from it"),
            (Frame::from(ATTACKER).to(BYSTANDER), Address4, "it is dropped wherever it goes"),
        ],
    );
}

#[test]
fn address_differing_in_one_bit_is_another() {
    agree(&[ATTACKER, ATTACKER6], neighbours(ATTACKER).chain(neighbours(ATTACKER6)));
}

#[test]
fn first_and_last_address_can_be_listed() {
    let ends = ["0.0.0.0", "255.255.255.255", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"];
    agree(
        &ends,
        [
            ("0.0.0.0".into(), Address4, "the first"),
            ("255.255.255.255".into(), Address4, "the last"),
            ("::".into(), Other6, "the first"),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".into(), Other6, "the last"),
            ("0.0.0.1".into(), Unlisted, "the second"),
            ("255.255.255.254".into(), Unlisted, "the last but one"),
            ("::1".into(), Unlisted, "the second"),
        ],
    );
}

/// Every address at a distance of one bit.
fn neighbours(address: &str) -> impl Iterator<Item = Case> {
    let address: IpAddr = address.parse().expect("an address");
    let bits = if address.is_ipv4() { 32 } else { 128 };
    (0..bits).map(move |bit| (Frame::from(flip(address, bit)), Unlisted, "one bit is another"))
}

fn flip(address: IpAddr, bit: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => IpAddr::V4((address.to_bits() ^ 1 << bit).into()),
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() ^ 1 << bit).into()),
    }
}
