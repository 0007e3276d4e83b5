//! Prefixes of every length: from the first to the last address inside, and not one further.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use filter_common::reason::Reason::{self, Address4, Net64, Network4, Other6, Unlisted};

use crate::judges::{Case, agree};

#[test]
fn ipv4_prefixes_of_every_length() {
    for length in 1..=8 {
        agree(&[&prefix4(length)], edges4(length));
    }
    let lengths = 9..=32;
    agree(&lengths.clone().map(prefix4).collect::<Vec<_>>(), lengths.flat_map(edges4));
}

#[test]
fn ipv6_prefixes_of_every_length() {
    for length in 1..=16 {
        agree(&[&prefix6(length)], edges6(length));
    }
    let lengths = 17..=128;
    agree(&lengths.clone().map(prefix6).collect::<Vec<_>>(), lengths.flat_map(edges6));
}

#[test]
fn ipv6_prefixes_of_one_length_alone() {
    for length in [32, 48, 63, 64, 65, 127, 128] {
        agree(&[&prefix6(length)], edges6(length));
    }
}

#[test]
fn the_whole_internet() {
    agree(
        &["0.0.0.0/0", "::/0"],
        [
            ("0.0.0.0".into(), Network4, "the first IPv4 address"),
            ("255.255.255.255".into(), Network4, "the last IPv4 address"),
            ("::".into(), Other6, "the first IPv6 address"),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".into(), Other6, "the last IPv6 address"),
        ],
    );
}

#[test]
fn cheapest_of_several_reasons_is_reported() {
    agree(
        &["203.0.113.0/24", "203.0.113.7", "2001:db8:bad::/64", "2001:db8:bad::/48", "2001:db8:bad::7"],
        [
            ("203.0.113.7".into(), Network4, "a bit is looked at before a bucket"),
            ("2001:db8:bad::7".into(), Net64, "the /64 is exact and looked up first"),
            ("2001:db8:bad:1::7".into(), Other6, "only the /48 holds it"),
        ],
    );
}

fn prefix4(length: u32) -> String {
    let (first, _) = ends4(length);
    format!("{}/{length}", Ipv4Addr::from(first))
}

fn prefix6(length: u32) -> String {
    let (first, _) = ends6(length);
    format!("{}/{length}", Ipv6Addr::from(first))
}

fn edges4(length: u32) -> [Case; 5] {
    let (first, last) = ends4(length);
    let reason = if length <= 24 { Network4 } else { Address4 };
    let [first, within, last, before, after] =
        [first, base4(length), last, first.wrapping_sub(1), last.wrapping_add(1)]
            .map(|bits| IpAddr::V4(bits.into()));
    edges([first, within, last], reason, [before, after])
}

fn edges6(length: u32) -> [Case; 5] {
    let (first, last) = ends6(length);
    let reason = if length == 64 { Net64 } else { Other6 };
    let [first, within, last, before, after] =
        [first, base6(length), last, first.wrapping_sub(1), last.wrapping_add(1)]
            .map(|bits| IpAddr::V6(bits.into()));
    edges([first, within, last], reason, [before, after])
}

fn edges([first, within, last]: [IpAddr; 3], reason: Reason, [before, after]: [IpAddr; 2]) -> [Case; 5] {
    [
        (first.into(), reason, "the first one inside"),
        (within.into(), reason, "one inside"),
        (last.into(), reason, "the last one inside"),
        (before.into(), Unlisted, "the one before it"),
        (after.into(), Unlisted, "the one behind it"),
    ]
}

/// The first and the last address of a prefix.
fn ends4(length: u32) -> (u32, u32) {
    let host = u32::MAX.checked_shr(length).unwrap_or(0);
    (base4(length) & !host, base4(length) | host)
}

fn ends6(length: u32) -> (u128, u128) {
    let host = u128::MAX.checked_shr(length).unwrap_or(0);
    (base6(length) & !host, base6(length) | host)
}

/// An address within the prefix of this length. It begins with the length, so that long prefixes do not overlap.
fn base4(length: u32) -> u32 {
    length << 24 | 0x00a5_3c96
}

fn base6(length: u32) -> u128 {
    u128::from(length) << 112 | 0x0db8_c9a5_3c96_5a3c_9669_a5c3_3ca5
}
