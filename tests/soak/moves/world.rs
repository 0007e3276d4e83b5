//! Members, each of whom some prefix covers at any time, but not for long the same; strangers beside them, whom none ever
//! covers; and others who come and go between them.

use std::collections::{BTreeMap, BTreeSet};

use filter_common::target::{Prefix, Prefix6};
use real::bans::{self, Around};
use real::chance::Chance;

/// A place: where it is, and the length of the widest prefix that ever covers a member there. Those who differ in the last of
/// these bits are strangers. Places of one word of the root, of a page and of a node; and what the table alone tells.
const PLACES: [(u16, u8); 18] = [
    (0x3100, 12),
    (0x2a00, 16),
    (0x2a04, 16),
    (0x2a08, 17),
    (0x2a0c, 20),
    (0x2a10, 24),
    (0x2a14, 25),
    (0x2a18, 28),
    (0x2a1c, 32),
    (0x2a20, 32),
    (0x2a24, 33),
    (0x2a28, 40),
    (0x2a2c, 48),
    (0x2a30, 63),
    (0x2a34, 64),
    (0x2a38, 65),
    (0x2a3c, 96),
    (0x2a40, 128),
];
/// Members in each.
const MEMBERS: usize = 64;
/// What members are covered by, as far as their place allows it.
const LENGTHS: [u8; 21] =
    [12, 14, 16, 17, 20, 23, 24, 25, 28, 31, 32, 33, 36, 40, 48, 56, 63, 64, 65, 96, 128];
/// Others who come in a round.
const OTHERS: usize = 1_500;

pub struct World {
    members: Vec<Member>,
    strangers: BTreeSet<u128>,
    /// Who wants this prefix: it is listed as long as anybody does.
    wanted: BTreeMap<Prefix6, usize>,
    others: Vec<Prefix6>,
    chance: Chance,
    /// How often a member has lost a prefix while a longer one stayed, and while a shorter one did.
    pub outer_left: usize,
    pub inner_left: usize,
}

struct Member {
    address: u128,
    widest: u8,
    covers: Vec<Prefix6>,
}

impl World {
    pub fn new() -> Self {
        let mut world = Self {
            members: Vec::new(),
            strangers: BTreeSet::new(),
            wanted: BTreeMap::new(),
            others: Vec::new(),
            chance: Chance::new("moves", 1),
            outer_left: 0,
            inner_left: 0,
        };
        PLACES.iter().for_each(|place| world.settle_place(*place));
        (0..world.members.len()).for_each(|number| _ = world.cover(number));
        world
    }

    pub fn members(&self) -> Vec<u128> {
        self.members.iter().map(|member| member.address).collect()
    }

    pub fn strangers(&self) -> Vec<u128> {
        self.strangers.iter().copied().collect()
    }

    /// What covers members, and nobody else's.
    pub fn forget_others(&mut self) -> Vec<Prefix6> {
        let others = std::mem::take(&mut self.others);
        self.release(others);
        self.wanted.keys().copied().collect()
    }

    /// Who comes in the next round: another cover for each second member, and others.
    pub fn coming(&mut self) -> Vec<Prefix6> {
        let mut coming = Vec::new();
        for number in 0..self.members.len() {
            if self.chance.once_in(2) {
                coming.extend(self.cover(number));
            }
        }
        for _ in 0..OTHERS {
            let other = self.other();
            if self.strangers.range(other.first()..=other.last()).next().is_none() {
                self.others.push(other);
                coming.extend(self.want(other));
            }
        }
        self.chance.shuffle(&mut coming);
        coming
    }

    /// Who leaves after a grace period: covers of members, of each of whom one stays at least, and a part of the others.
    pub fn leaving(&mut self) -> Vec<Prefix6> {
        let mut leaving = Vec::new();
        for member in &mut self.members {
            let stays = self.chance.below(member.covers.len() as u64) as usize;
            let stays = member.covers[stays];
            let (gone, kept) =
                member.covers.iter().partition(|cover| **cover != stays && self.chance.once_in(2));
            member.covers = kept;
            leaving.extend(&gone);
            for prefix in &gone as &Vec<Prefix6> {
                self.outer_left += usize::from(stays.length() > prefix.length());
                self.inner_left += usize::from(stays.length() < prefix.length());
            }
        }
        self.chance.shuffle(&mut self.others);
        let few = self.chance.below(self.others.len() as u64 / 4) as usize;
        leaving.extend(self.others.drain(..few));
        let mut leaving = self.release(leaving);
        self.chance.shuffle(&mut leaving);
        leaving
    }

    /// How many of the next come or leave together.
    pub fn page(&mut self) -> usize {
        [1, 1, 7, 64, 400][self.chance.below(5) as usize]
    }

    fn settle_place(&mut self, (high, widest): (u16, u8)) {
        let within = |chance: &mut Chance| {
            let shared = u64::from(widest) + chance.below(u64::from(129 - widest));
            chance.any6().checked_shr(shared as u32).unwrap_or(0)
        };
        let base = u128::from(high) << 112 | self.chance.any6() >> 16;
        for _ in 0..MEMBERS {
            let address = base ^ within(&mut self.chance);
            self.members.push(Member { address, widest, covers: Vec::new() });
            self.strangers.insert(base ^ 1 << (128 - widest) ^ within(&mut self.chance));
        }
    }

    /// Another cover for a member, if there is one; what enters by it.
    fn cover(&mut self, number: usize) -> Option<Prefix6> {
        let member = &self.members[number];
        let lengths: Vec<u8> = LENGTHS.into_iter().filter(|length| *length >= member.widest).collect();
        let length = lengths[self.chance.below(lengths.len() as u64) as usize];
        let cover = Prefix::covering(member.address, length);
        if member.covers.contains(&cover) {
            return None;
        }
        self.members[number].covers.push(cover);
        self.want(cover)
    }

    /// Somebody of any length beside the members, or anywhere: for these all there will be no room for long.
    fn other(&mut self) -> Prefix6 {
        let address = if self.chance.once_in(3) {
            bans::somebody6(Around::Anywhere, &mut self.chance)
        } else {
            let (high, _) = PLACES[self.chance.below(PLACES.len() as u64) as usize];
            u128::from(high ^ self.chance.below(2) as u16) << 112 | self.chance.any6() >> 16
        };
        let length = if self.chance.once_in(4) { 24 + self.chance.below(9) as u8 } else { 64 };
        let length = if self.chance.once_in(4) { 33 + self.chance.below(31) as u8 } else { length };
        Prefix::covering(address, if self.chance.once_in(8) { 128 } else { length })
    }

    fn want(&mut self, prefix: Prefix6) -> Option<Prefix6> {
        let wants = self.wanted.entry(prefix).or_default();
        *wants += 1;
        (*wants == 1).then_some(prefix)
    }

    /// Those that nobody wants any more.
    fn release(&mut self, prefixes: Vec<Prefix6>) -> Vec<Prefix6> {
        let mut left = Vec::new();
        for prefix in prefixes {
            let wants = self.wanted.get_mut(&prefix).expect("it was wanted");
            *wants -= 1;
            if *wants == 0 {
                self.wanted.remove(&prefix);
                left.push(prefix);
            }
        }
        left
    }
}
