//! Frames that no table of cases would think of: whatever they are, bytecode and native code agree on them.

use harness::{ATTACKER, ATTACKER6, Frame, Random};

use crate::judges::{SHORTEST, agree_on};

const LISTED: [&str; 5] = [ATTACKER, "198.18.0.0/15", "224.0.0.0/3", ATTACKER6, "2001:db8:bad::/48"];

#[test]
fn bytes_at_random() {
    let mut random = Random(11);
    agree_on(&LISTED, (0..5_000).map(|_| noise(&mut random)));
}

#[test]
fn good_frames_with_a_few_wrong_bytes() {
    let mut random = Random(12);
    agree_on(&LISTED, (0..20_000).map(|_| damaged(&mut random)));
}

#[test]
fn every_type_behind_any_tags_agrees() {
    let mut random = Random(13);
    agree_on(&LISTED, (0..5_000).map(|_| tagged(&mut random)));
}

fn noise(random: &mut Random) -> Vec<u8> {
    let length = SHORTEST + random.below(120);
    (0..length).map(|_| random.byte()).collect()
}

fn damaged(random: &mut Random) -> Vec<u8> {
    let mut frame = start(random).bytes([6; 6]);
    for _ in 0..random.below(3) {
        let at = random.below(frame.len());
        frame[at] = random.byte();
    }
    frame.truncate(SHORTEST + random.below(frame.len()));
    frame
}

fn tagged(random: &mut Random) -> Vec<u8> {
    let kinds = [0x8100, 0x88a8, 0x9100, 0x9200, 0x0800, 0x86dd, 0x0806];
    let tags = random.below(11);
    let frame = (0..tags).fold(start(random), |frame, _| {
        let id = if random.below(3) == 0 { 0x4500 } else { 0xE000 };
        frame.tag(kinds[random.below(kinds.len())], id)
    });
    frame.bytes([6; 6])
}

fn start(random: &mut Random) -> Frame {
    let sources =
        [ATTACKER, "198.18.7.7", "203.0.113.8", "240.1.2.3", ATTACKER6, "2001:db8:bad:1::", "fe80::1"];
    let frame = Frame::from(sources[random.below(sources.len())]);
    (0..random.below(6)).fold(frame, |frame, _| frame.vlan(5))
}
