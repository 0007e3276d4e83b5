//! What is allowed passes, whatever blocks it, and nothing else does.

use filter_common::reason::Reason::{Address4, Allowed, Neighbour, Network4, Other6, Unlisted};
use harness::Frame;

use crate::judges::agree_while;

const EVERYTHING: [&str; 2] = ["0.0.0.0/0", "::/0"];

#[test]
fn an_allowed_address_passes_inside_a_blocked_prefix() {
    agree_while(
        &["10.0.0.0/8", "2001:db8::/32"],
        &["10.1.2.3", "2001:db8::7"],
        [
            ("10.1.2.3".into(), Allowed, "it is allowed inside a blocked /8"),
            ("10.1.2.4".into(), Network4, "its neighbour is not"),
            ("2001:db8::7".into(), Allowed, "it is allowed inside a blocked /32"),
            ("2001:db8::8".into(), Other6, "its neighbour is not"),
            ("11.1.2.3".into(), Unlisted, "nobody blocks it"),
        ],
    );
}

#[test]
fn allowed_prefix_passes_whatever_it_contains() {
    agree_while(
        &[
            "192.0.2.7",
            "192.0.2.64/26",
            "198.51.100.7",
            "2001:db8:1::7",
            "2001:db8:1:2::/64",
            "2001:db8:2::7",
        ],
        &["192.0.2.0/24", "2001:db8:1::/48"],
        [
            ("192.0.2.7".into(), Allowed, "an address in an allowed /24"),
            ("192.0.2.70".into(), Allowed, "a blocked /26 in it"),
            ("192.0.2.8".into(), Unlisted, "nobody blocks it, so nobody asks"),
            ("198.51.100.7".into(), Address4, "it lies elsewhere"),
            ("2001:db8:1::7".into(), Allowed, "an address in an allowed /48"),
            ("2001:db8:1:2::9".into(), Allowed, "a blocked /64 in it"),
            ("2001:db8:2::7".into(), Other6, "it lies elsewhere"),
        ],
    );
}

#[test]
fn the_same_target_on_both_sides_is_allowed() {
    let both = [
        "192.0.2.7",
        "198.51.100.0/24",
        "203.0.113.0/28",
        "2001:db8::7",
        "2001:db8:1:2::/64",
        "2001:db9::/33",
    ];
    agree_while(
        &both,
        &both,
        ["192.0.2.7", "198.51.100.9", "203.0.113.15", "2001:db8::7", "2001:db8:1:2::9", "2001:db9::1"]
            .map(|source| (source.into(), Allowed, "allow wins")),
    );
}

#[test]
fn every_target_kind_is_allowed_within_everything() {
    agree_while(
        &EVERYTHING,
        &[
            "192.0.2.7",
            "198.51.0.0/16",
            "203.0.113.16/28",
            "2001:db8::7",
            "2001:db8:1:2::/64",
            "2001:db9:8000::/33",
            "2a00::/12",
        ],
        [
            ("192.0.2.7".into(), Allowed, "an address"),
            ("192.0.2.6".into(), Network4, "beside it"),
            ("198.51.255.255".into(), Allowed, "the end of a /16"),
            ("198.52.0.0".into(), Network4, "beside it"),
            ("203.0.113.31".into(), Allowed, "the end of a /28"),
            ("203.0.113.32".into(), Network4, "beside it"),
            ("2001:db8::7".into(), Allowed, "an address"),
            ("2001:db8::6".into(), Other6, "beside it"),
            ("2001:db8:1:2:ffff::".into(), Allowed, "in a /64"),
            ("2001:db8:1:3::".into(), Other6, "beside it"),
            ("2001:db9:8000::".into(), Allowed, "the beginning of a /33"),
            ("2001:db9:7fff::".into(), Other6, "beside it"),
            ("2a0f::".into(), Allowed, "in a /12"),
            ("2a10::".into(), Other6, "beside it"),
        ],
    );
}

#[test]
fn the_whole_internet_may_be_allowed() {
    agree_while(
        &["192.0.2.7", "2001:db8::7", "198.51.100.0/24", "2001:db8:1:2::/64"],
        &EVERYTHING,
        [
            ("192.0.2.7".into(), Allowed, "it is blocked in vain"),
            ("198.51.100.7".into(), Allowed, "it is blocked in vain"),
            ("2001:db8::7".into(), Allowed, "it is blocked in vain"),
            ("2001:db8:1:2::7".into(), Allowed, "it is blocked in vain"),
            ("192.0.2.8".into(), Unlisted, "nobody blocks it"),
        ],
    );
}

#[test]
fn allowed_source_passes_behind_tags() {
    agree_while(
        &EVERYTHING,
        &["192.0.2.7", "2001:db8::7"],
        ["192.0.2.7", "2001:db8::7"].into_iter().flat_map(|source| {
            (0..=4).map(move |tags| {
                let frame = (0..tags).fold(Frame::from(source), |frame, tag| frame.vlan(tag + 1));
                (frame, Allowed, "it is looked at once more")
            })
        }),
    );
}

/// One key cannot be taken for another: the address is worked out again from what the table's scheme makes of it.
#[test]
fn table_lookup_distinguishes_every_address() {
    let blocked: Vec<String> =
        (0..3000_u32).map(|number| format!("10.{}.{}.1", number % 7, number / 13)).collect();
    let allowed: Vec<String> = blocked.iter().step_by(3).cloned().collect();
    agree_while(
        &blocked,
        &allowed,
        blocked.iter().map(|source| {
            let reason = if allowed.contains(source) { Allowed } else { Address4 };
            (source.as_str().into(), reason, "every third is allowed")
        }),
    );
}

#[test]
fn neighbour_discovery_of_the_allowed_counts_as_allowed() {
    agree_while(
        &["fe80::/10"],
        &["fe80::7"],
        [
            (Frame::neighbour_solicitation("fe80::7").hop_limit(255), Allowed, "allow comes first"),
            (Frame::neighbour_solicitation("fe80::8").hop_limit(255), Neighbour, "it is not allowed"),
        ],
    );
}
