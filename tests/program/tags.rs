//! VLAN tags: up to four of any kind are looked behind, or eight where their id is 0. With more a frame is dropped.

use filter_common::reason::Reason::{Address4, NotIp, Other6, TooManyTags, Unlisted};
use harness::{ATTACKER, ATTACKER6, BYSTANDER, Frame};

use crate::judges::agree;

/// 802.1Q, 802.1ad, and what switches sent before 802.1ad was a standard.
const KINDS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

#[test]
fn up_to_four_tags_hide_no_source() {
    let listed = [ATTACKER, ATTACKER6];
    let wrappings = || (0..=4).flat_map(mixtures);
    agree(&listed, wrappings().map(|tags| (wrap(ATTACKER, &tags), Address4, "listed behind tags")));
    agree(&listed, wrappings().map(|tags| (wrap(ATTACKER6, &tags), Other6, "listed behind tags")));
    agree(&listed, wrappings().map(|tags| (wrap(BYSTANDER, &tags), Unlisted, "unlisted behind tags")));
}

#[test]
fn five_tags_with_an_id_are_too_many() {
    let five = mixtures(5).into_iter();
    agree(&[ATTACKER], five.map(|tags| (wrap(ATTACKER, &tags), TooManyTags, "nobody uses so many")));
}

/// FAULTS P11: the kernel takes off any number of tags whose id is 0, whatever their priority.
#[test]
fn priority_tags_hide_no_source() {
    for (source, found) in [(ATTACKER, Address4), (ATTACKER6, Other6), (BYSTANDER, Unlisted)] {
        let mut cases = Vec::new();
        for (priority, ids) in (0..=10).flat_map(|priority| (0..=5).map(move |ids| (priority, ids))) {
            let few = priority + ids <= 8 && ids <= 4;
            let expected = if few { found } else { TooManyTags };
            cases.push((with_ids(with_priorities(source.into(), priority), ids), expected, "ids inside"));
            cases.push((with_priorities(with_ids(source.into(), ids), priority), expected, "ids outside"));
        }
        agree(&[ATTACKER, ATTACKER6], cases);
    }
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

/// So many tags without an id more, of every kind, priority and eligibility to be dropped.
fn with_priorities(frame: Frame, count: usize) -> Frame {
    (0..count).fold(frame, |frame, number| frame.tag(KINDS[number % KINDS.len()], (number as u16 * 3) << 12))
}

/// So many tags with an id more.
fn with_ids(frame: Frame, count: usize) -> Frame {
    (0..count).fold(frame, |frame, number| frame.tag(KINDS[number % KINDS.len()], 0xE001 + number as u16))
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
