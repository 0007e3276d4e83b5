//! A small, crowded universe of targets that repeat, nest and cover each other, and packets to test them
//! with.

use filter_common::packet::Source;
use filter_common::target::{Prefix, Target};

use super::random::Random;

/// The first address that targets are drawn from.
pub const FIRST4: u32 = 0x0A00_0000;
/// The number of such addresses: more than two of the smallest tables take.
pub const COUNT4: u32 = 1024;

const FIRST6: u128 = 0x2001_0db8 << 96;
const NETS: u64 = 3;
const HOSTS: u64 = 100;

pub fn target(random: &mut Random) -> Target {
    let address = FIRST4 + random.below(COUNT4 as usize) as u32;
    let mut below = |bound: u64| random.below(bound as usize) as u64;
    let six = address6(below(NETS), below(NETS), below(HOSTS));
    match random.below(40) {
        0..=21 => Target::V4(Prefix::host(address)),
        22 | 23 => Target::V4(Prefix::covering(address, 25 + random.below(7) as u8)),
        24 => Target::V4(Prefix::covering(address, 18 + random.below(7) as u8)),
        25 | 26 => Target::V6(Prefix::covering(six, 64)),
        27 => {
            let lengths = [12, 16, 20, 24, 29, 32, 33, 46, 47, 48, 63, 65, 96, 123, 125, 127];
            Target::V6(Prefix::covering(six, lengths[random.below(lengths.len())]))
        }
        28 if random.below(20) == 0 => Target::V6(Prefix::covering(0, random.below(3) as u8)),
        _ => Target::V6(Prefix::host(six)),
    }
}

/// Sources of packets: some of the addresses that targets are drawn from, and some others.
pub fn sources() -> Vec<Target> {
    let near = (0..COUNT4).filter(|number| number % 13 == 0 || number % 256 == 255);
    let four = near.map(|number| FIRST4 + number).chain([0, u32::MAX, 0x0A00_0400, 0x0A10_0000, 0x8000_0000]);
    let nets = (0..NETS).flat_map(|first| (0..NETS).map(move |second| (first, second)));
    let six = nets.flat_map(|(first, second)| {
        [0, 1, 31, 32, HOSTS - 1, 1 << 60].map(|host| address6(first, second, host))
    });
    let beside = [112, 111, 108, 104, 100, 96, 95].map(|bit| FIRST6 ^ 1 << bit);
    let six = six.chain(beside).chain([0, 1, u128::MAX, FIRST6 - 1, 1 << 127]);
    four.map(|address| Target::V4(Prefix::host(address)))
        .chain(six.map(|address| Target::V6(Prefix::host(address))))
        .collect()
}

/// The packet source for a single address.
pub fn source(host: Target) -> Source {
    match host {
        Target::V4(prefix) => Source::V4(prefix.address()),
        Target::V6(prefix) => Source::V6(prefix.address().into()),
    }
}

fn address6(first: u64, second: u64, host: u64) -> u128 {
    FIRST6 | u128::from(first) << 80 | u128::from(second) << 64 | u128::from(host)
}
