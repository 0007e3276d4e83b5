//! VLAN tags: up to four of any kind are looked behind.

use filter_common::reason::Reason::{Address4, NotIp, Other6, TooManyTags, Unlisted};
use harness::{ATTACKER, ATTACKER6, BYSTANDER, Frame};

use crate::judges::agree;

/// 802.1Q, 802.1ad, and what switches sent before 802.1ad was a standard.
const KINDS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

#[test]
fn up_to_four_tags_of_any_kind_hide_nobody() {
    let listed = [ATTACKER, ATTACKER6];
    let wrappings = || (0..=4).flat_map(mixtures);
    agree(&listed, wrappings().map(|tags| (wrap(ATTACKER, &tags), Address4, "listed behind tags")));
    agree(&listed, wrappings().map(|tags| (wrap(ATTACKER6, &tags), Other6, "listed behind tags")));
    agree(&listed, wrappings().map(|tags| (wrap(BYSTANDER, &tags), Unlisted, "unlisted behind tags")));
}

#[test]
fn five_tags_are_too_many() {
    let five = mixtures(5).into_iter();
    agree(&[ATTACKER], five.map(|tags| (wrap(ATTACKER, &tags), TooManyTags, "nobody uses so many")));
}

#[test]
fn other_tags_are_not_understood() {
    agree(
        &[ATTACKER],
        [
            (Frame::from(ATTACKER).tag(0x9200, 1), NotIp, "a private kind of tag"),
            (Frame::from(ATTACKER).vlan(1).tag(0x8847, 1), NotIp, "MPLS within a VLAN"),
            (Frame::arp(ATTACKER).vlan(1).vlan(2), NotIp, "ARP within VLANs"),
        ],
    );
}

/// Every sequence of so many tags.
fn mixtures(tags: u32) -> Vec<Vec<u16>> {
    let kinds = KINDS.len();
    let digit = |number: usize, place: u32| KINDS[number / kinds.pow(place) % kinds];
    (0..kinds.pow(tags)).map(|number| (0..tags).map(|place| digit(number, place)).collect()).collect()
}

fn wrap(source: &str, tags: &[u16]) -> Frame {
    tags.iter().fold(Frame::from(source), |frame, kind| frame.tag(*kind, 0x0fff))
}
