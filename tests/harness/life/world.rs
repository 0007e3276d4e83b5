//! Where the targets of a life come from: crowded, so that much nests, neighbours and covers.

use std::collections::HashSet;

use super::batch::{Batch, first_of};
use super::prefix::Prefix;
use crate::Random;

/// Where the targets of one life lie, and those that it has seen.
#[derive(Debug)]
pub struct World {
    towns: Vec<u128>,
    towns6: Vec<u128>,
    seen: Vec<Prefix>,
    batches: Vec<Vec<Prefix>>,
    /// No more than so many IPv6 targets in one batch.
    pub most6: usize,
}

impl World {
    /// A world of its own for each life.
    pub fn new(random: &mut Random) -> Self {
        let town = |random: &mut Random| u128::from(random.number() as u32 % 0xc0_00_00_00) | 0x0100_0000;
        let town6 = |random: &mut Random| 2 << 124 | (wide(random) >> 4);
        Self {
            towns: (0..6).map(|_| town(random) & !0xfff).collect(),
            towns6: (0..4).map(|_| town6(random) & !((1 << 80) - 1)).collect(),
            seen: Vec::new(),
            batches: Vec::new(),
            most6: usize::MAX,
        }
    }

    /// Any address: mostly one where much else is.
    pub fn address(&self, random: &mut Random) -> (bool, u128) {
        match random.below(8) {
            0..4 => (false, self.in_town(random)),
            4 => (false, anywhere(random)),
            5..7 => (true, self.in_town6(random)),
            _ => (true, anywhere6(random)),
        }
    }

    /// Targets seen before, with others around them.
    pub fn known(&self, random: &mut Random, count: usize) -> Vec<Prefix> {
        if self.seen.is_empty() {
            return Vec::new();
        }
        let mut known: Vec<_> = (0..count).map(|_| self.seen[random.below(self.seen.len())]).collect();
        known.sort();
        known.dedup();
        known
    }

    /// A whole batch of earlier days, if there is one.
    pub fn earlier(&self, random: &mut Random) -> Vec<Prefix> {
        if self.batches.is_empty() {
            Vec::new()
        } else {
            self.batches[random.below(self.batches.len())].clone()
        }
    }

    /// A new batch of about this size.
    pub fn batch(&mut self, random: &mut Random, size: usize) -> Batch {
        let six = size.min(self.most6);
        let batch = match random.below(11) {
            0 | 1 => Batch::of(self.crowd(random, size), "targets of crowded towns"),
            2 => Batch::of(self.run(random, size), "addresses in a row"),
            3 => {
                Batch::of(distinct(size, || Prefix::host(false, anywhere(random))), "addresses from anywhere")
            }
            4 => Batch::of(self.run_of_nets(random, size.min(5000)), "prefixes /24 in a row"),
            5 => Batch::of(self.crowd6(random, six), "IPv6 targets of crowded towns"),
            6 => Batch::of(self.run6(random, six), "IPv6 networks or addresses in a row"),
            7 => Batch::of(distinct(six, || scattered6(random)), "IPv6 targets from anywhere"),
            8 => {
                let (four, half) = (self.crowd(random, size / 2 + 1), (size / 2 + 1).min(self.most6));
                Batch::of([four, self.crowd6(random, half)].concat(), "targets of both families")
            }
            9 => self.ranges(random, size / 6 + 1),
            _ => Batch::of(self.relatives(random, size.min(2000)), "relatives of what was seen"),
        };
        self.remember(random, &batch.targets);
        batch
    }

    fn remember(&mut self, random: &mut Random, targets: &[Prefix]) {
        const MOST: usize = 4000;
        for _ in 0..targets.len().min(300) {
            let target = targets[random.below(targets.len())];
            if self.seen.len() < MOST {
                self.seen.push(target);
            } else {
                let place = random.below(MOST);
                self.seen[place] = target;
            }
        }
        let place = random.below(8);
        if self.batches.len() < 8 {
            self.batches.push(targets.to_vec());
        } else {
            self.batches[place] = targets.to_vec();
        }
    }

    fn in_town(&self, random: &mut Random) -> u128 {
        self.towns[random.below(self.towns.len())] + random.below(4096) as u128
    }

    /// /64s in a row, and in the first few of them addresses in a row.
    fn in_town6(&self, random: &mut Random) -> u128 {
        let net = (random.below(64) as u128) << 64;
        self.towns6[random.below(self.towns6.len())] + net + random.below(256) as u128
    }

    fn crowd(&self, random: &mut Random, size: usize) -> Vec<Prefix> {
        distinct(size, || {
            // Long prefixes cost an entry for each address, so a large crowd has few wide ones.
            let long = if size <= 100 { 25 } else { 30 };
            let length = match random.below(100) {
                0..60 => 32,
                60..80 => long + random.below(usize::from(32 - long)) as u8,
                80..96 => 17 + random.below(8) as u8,
                96..99 => 9 + random.below(8) as u8,
                _ => 3 + random.below(8) as u8,
            };
            // The very wide ones lie where nothing else is, or they would hide it.
            let address = if length < 16 { anywhere(random) | 0xc000_0000 } else { self.in_town(random) };
            let address = if size > 300 && length == 32 { anywhere(random) } else { address };
            Prefix::around(false, address, length)
        })
    }

    fn crowd6(&self, random: &mut Random, size: usize) -> Vec<Prefix> {
        distinct(size, || {
            let address = self.in_town6(random) | if size > 300 { wide(random) >> 68 << 20 } else { 0 };
            let length = match random.below(100) {
                0..40 => 128,
                40..70 => 64,
                70..80 => 65 + random.below(63) as u8,
                80..99 => 40 + random.below(24) as u8,
                _ => 20 + random.below(20) as u8,
            };
            let address = if length < 48 { anywhere6(random) | 1 << 124 } else { address };
            Prefix::around(true, address, length)
        })
    }

    fn run(&self, random: &mut Random, size: usize) -> Vec<Prefix> {
        let begin = self.in_town(random);
        (0..size as u128).map(|step| Prefix::host(false, begin + step)).collect()
    }

    fn run_of_nets(&self, random: &mut Random, size: usize) -> Vec<Prefix> {
        let begin = anywhere(random) >> 1;
        (0..size as u128).map(|step| Prefix::around(false, begin + (step << 8), 24)).collect()
    }

    fn run6(&self, random: &mut Random, size: usize) -> Vec<Prefix> {
        let (begin, wide) = (self.in_town6(random), random.below(2) == 0);
        let (shift, length) = if wide { (64, 64) } else { (0, 128) };
        (0..size as u128).map(|step| Prefix::around(true, begin + (step << shift), length)).collect()
    }

    fn ranges(&self, random: &mut Random, size: usize) -> Batch {
        let (mut batch, mut known) = (Batch::default(), HashSet::new());
        for _ in 0..size.min(5000) {
            let is_six = random.below(4) == 0 && batch.targets.len() < self.most6.min(5000) / 8;
            let first = if is_six { self.in_town6(random) } else { self.in_town(random) };
            batch.push_range(&mut known, is_six, first, first + random.below(300) as u128);
        }
        batch.words = format!("{} ranges{}", batch.lines.len(), first_of(&batch.targets));
        batch
    }

    /// What was seen itself, the prefix around it, or an address in it.
    pub fn relatives(&self, random: &mut Random, size: usize) -> Vec<Prefix> {
        if self.seen.is_empty() {
            return self.crowd(random, size);
        }
        let size = size.min(self.seen.len() / 2 + 1).min(self.most6);
        distinct(size, || {
            let target = self.seen[random.below(self.seen.len())];
            let Prefix { is_six, first, length } = target;
            match random.below(3) {
                0 => target,
                1 if length > 20 => Prefix::around(is_six, first, length - 1 - random.below(4) as u8),
                _ => Prefix::host(is_six, first + wide(random) % (target.last() - first).max(1)),
            }
        })
    }
}

/// So many different ones, or as many as there are after a fair number of tries.
fn distinct(size: usize, mut next: impl FnMut() -> Prefix) -> Vec<Prefix> {
    let (mut known, mut targets) = (HashSet::new(), Vec::new());
    for _ in 0..size * 2 {
        let target = next();
        if targets.len() < size && known.insert(target) {
            targets.push(target);
        }
    }
    targets
}

fn wide(random: &mut Random) -> u128 {
    u128::from(random.number()) << 64 | u128::from(random.number())
}

fn anywhere(random: &mut Random) -> u128 {
    u128::from(random.number() >> 32) % 0xdf_00_00_00 + 0x0100_0000
}

fn anywhere6(random: &mut Random) -> u128 {
    2 << 124 | (wide(random) >> 4)
}

fn scattered6(random: &mut Random) -> Prefix {
    const LENGTHS: [u8; 9] = [36, 40, 44, 48, 52, 56, 60, 64, 128];
    Prefix::around(true, anywhere6(random), LENGTHS[random.below(LENGTHS.len())])
}
