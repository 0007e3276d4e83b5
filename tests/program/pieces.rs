//! Frames that come in pieces: drivers may hand over headers, or all of a frame, outside the part that a program reaches
//! at once (FAULTS P12).

use filter_common::reason::Reason::{
    Address4, Malformed, Neighbour, Net64, Network4, NotIp, Other6, TooManyTags, Unlisted,
};
use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame};

use crate::judges::{Case, agree_in_pieces};

#[test]
fn headers_are_read_wherever_they_lie() {
    let blocked = [ATTACKER, ATTACKER6, "198.18.0.0/16", "2001:db8:1:1::/64"];
    agree_in_pieces(&blocked, [cases(), behind_tags()].concat());
}

fn cases() -> Vec<Case> {
    let solicitation = || Frame::neighbour_solicitation(ATTACKER6);
    vec![
        (Frame::from(ATTACKER), Address4, "a listed address"),
        (Frame::from("198.18.7.7"), Network4, "a listed prefix"),
        (Frame::from(ATTACKER6), Other6, "a listed address"),
        (Frame::from("2001:db8:1:1::9"), Net64, "a listed /64"),
        (Frame::from(BYSTANDER), Unlisted, "somebody else"),
        (Frame::from(BYSTANDER6), Unlisted, "somebody else"),
        (Frame::arp(ATTACKER), NotIp, "ARP"),
        (solicitation(), Neighbour, "neighbour discovery"),
        (solicitation().hop_limit(254), Other6, "routed"),
        (Frame::from(ATTACKER).cut_at(33), Malformed, "it ends too early"),
        (Frame::from(ATTACKER6).cut_at(53), Malformed, "it ends too early"),
        (Frame::from(ATTACKER).network_byte(0, 0x65), Malformed, "it contradicts itself"),
    ]
}

fn behind_tags() -> Vec<Case> {
    let ids = |frame: Frame, count| (1..=count).fold(frame, Frame::vlan);
    let priorities = |frame: Frame, count| (0..count).fold(frame, |frame, _| frame.vlan(0));
    vec![
        (ids(ATTACKER.into(), 4), Address4, "behind four tags"),
        (ids(ATTACKER6.into(), 2), Other6, "behind two tags"),
        (priorities(ATTACKER.into(), 8), Address4, "behind eight tags"),
        (priorities(BYSTANDER6.into(), 8), Unlisted, "somebody else behind eight tags"),
        (priorities(BYSTANDER.into(), 9), TooManyTags, "behind nine tags"),
        (ids(BYSTANDER.into(), 5), TooManyTags, "behind five ids"),
        (
            priorities(Frame::neighbour_solicitation(ATTACKER6), 6),
            Neighbour,
            "neighbour discovery behind tags",
        ),
    ]
}
