use core::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::{format, vec, vec::Vec};

use super::*;
use crate::target::{Prefix, Prefix6};
use crate::{Words, WordsMut};

/// The listed prefixes, searched in the simplest way.
#[derive(Clone, Default)]
struct Listed(BTreeSet<Prefix6>);

impl Others for Listed {
    fn cover(&self, prefix: Prefix6, shortest: u8) -> bool {
        let mut lengths = shortest..=prefix.length();
        lengths.any(|length| self.0.contains(&Prefix::covering(prefix.address(), length)))
    }

    fn are_within(&self, prefix: Prefix6) -> bool {
        let mut within = self.0.range(prefix..=Prefix::host(prefix.last()));
        within.any(|other| other.length() > prefix.length())
    }
}

impl Listed {
    fn blocks(&self, address: u128) -> bool {
        self.cover(Prefix::host(address), 0)
    }
}

/// The first word that stands for a table entry. In these tests, words are all there is.
const TABLE: u32 = 1 << 30;

/// True if a reader of these words finds `address` listed.
fn is_met(words: &impl Words, size: u32, table: &HashMap<Prefix6, u32>, address: u128) -> bool {
    let lengths = match below(words, || size::last_start(size), (address >> 64) as u64) {
        Below::Nothing => return false,
        Below::Everything(_) => return true,
        Below::Some(lengths) => lengths,
    };
    let asked = (1..=64).filter(|length| lengths.to_64 >> (64 - length) & 1 != 0).rev();
    asked.chain((65..=128).filter(|_| lengths.beyond_64)).any(|length| {
        let entry = table.get(&Prefix::covering(address, length));
        entry.is_some_and(|number| words.load(TABLE + number) != 0)
    })
}

/// Words in memory, including those of the table, and every store that was made.
struct Memory {
    levels: Vec<Cell<u64>>,
    table: RefCell<HashMap<u32, u64>>,
    log: RefCell<Vec<(u32, u64)>>,
}

impl Memory {
    fn new(size: u32) -> Self {
        Self { levels: vec![Cell::new(0); size as usize], table: RefCell::default(), log: RefCell::default() }
    }
}

impl Words for Memory {
    fn load(&self, index: u32) -> u64 {
        match index {
            TABLE.. => self.table.borrow().get(&index).copied().unwrap_or_default(),
            _ => self.levels[index as usize].get(),
        }
    }
}

impl WordsMut for Memory {
    fn store(&self, index: u32, word: u64) {
        self.log.borrow_mut().push((index, word));
        match index {
            TABLE.. => _ = self.table.borrow_mut().insert(index, word),
            _ => self.levels[index as usize].set(word),
        }
    }
}

/// The daemon's side: levels and table together.
struct World<'a> {
    levels: Levels<&'a Memory>,
    table: HashMap<Prefix6, u32>,
    listed: Listed,
}

impl<'a> World<'a> {
    fn new(memory: &'a Memory, size: u32) -> Self {
        let levels = Levels::new(memory, size);
        Self { levels, table: HashMap::new(), listed: Listed::default() }
    }

    fn add(&mut self, prefix: Prefix6) {
        if !self.listed.0.insert(prefix) {
            return;
        }
        self.levels.make_way(prefix);
        if !self.levels.tells(prefix) {
            let next = self.table.len() as u32;
            let number = *self.table.entry(prefix).or_insert(next);
            self.levels.words().store(TABLE + number, 1);
        }
        self.levels.show(prefix);
    }

    fn remove(&mut self, prefix: Prefix6) {
        if !self.listed.0.remove(&prefix) {
            return;
        }
        self.levels.hide(prefix, &self.listed);
        if let Some(number) = self.table.get(&prefix) {
            self.levels.words().store(TABLE + number, 0);
        }
    }

    fn meets(&self, address: u128) -> bool {
        is_met(self.levels.words(), self.levels.size(), &self.table, address)
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) % end
    }

    /// An address near `base`: a few bits differ, and high bits differ less often.
    fn near(&mut self, base: u128) -> u128 {
        const WHERE: [u32; 12] = [127, 114, 113, 105, 104, 103, 97, 96, 95, 80, 64, 0];
        (0..3).fold(base, |address, _| address ^ (self.below(2) as u128) << WHERE[self.below(12) as usize])
    }

    fn prefix(&mut self, base: u128) -> Prefix6 {
        const LENGTHS: [u8; 22] =
            [0, 1, 12, 13, 14, 15, 20, 23, 24, 25, 29, 31, 32, 33, 40, 48, 63, 64, 65, 96, 127, 128];
        Prefix::covering(self.near(base), LENGTHS[self.below(22) as usize])
    }
}

/// One size with room for all prefixes, and one with little room. Neither is a power of two.
const ROOMY: u32 = 4 * SCANT;
const SCANT: u32 = size::SMALLEST / 64 * 81;

const BASE: u128 = 0x2a02_0db8_1234_5678 << 64;

/// Adds and removes nested prefixes at random, and now and then removes all. Returns how often a prefix of at
/// most 32 bits was in the table because pages or nodes were missing.
fn live(size: u32, spread: u64, steps: u64, seed: u64) -> usize {
    let memory = Memory::new(size);
    let (mut world, mut random) = (World::new(&memory, size), Random(seed));
    for step in 0..steps {
        let base = BASE ^ u128::from(random.below(spread)) << 104;
        if random.below(3) == 0 {
            let known: Vec<_> = world.listed.0.iter().copied().collect();
            let nothing = random.prefix(base);
            world
                .remove(known.get(random.below(1 + known.len() as u64) as usize).copied().unwrap_or(nothing));
        } else {
            world.add(random.prefix(base));
        }
        if step % 97 == 96 {
            let all: Vec<_> = world.listed.0.iter().copied().collect();
            all.into_iter().for_each(|prefix| world.remove(prefix));
            assert!((0..ROOT_WORDS).all(|at| memory.load(at) == 0), "nothing is left in the root");
        }
        memory.log.borrow_mut().clear();
        for _ in 0..8 {
            let address = random.near(base);
            assert_eq!(
                world.meets(address),
                world.listed.blocks(address),
                "{address:x}, step {step}, seed {seed}"
            );
        }
    }
    world.table.keys().filter(|prefix| prefix.length() <= 32).count()
}

#[test]
fn every_address_meets_what_covers_it() {
    let short = (0..6).map(|seed| live(ROOMY, 3, 1000, seed)).sum::<usize>();
    assert_eq!(short, 0, "there is room for all");
}

#[test]
fn table_holds_short_prefixes_without_free_pages() {
    let short = (0..3).map(|seed| live(SCANT, 1 << 12, 6000, seed)).sum::<usize>();
    assert!(short > 100, "{short} only");
}

#[test]
fn copy_is_equal_and_regains_room() {
    let (memory, fresh) = (Memory::new(SCANT), Memory::new(SCANT));
    let (mut world, mut random) = (World::new(&memory, SCANT), Random(5));
    while !world.levels.is_worth_copying() {
        let base = BASE ^ u128::from(random.below(1 << 12)) << 104;
        let prefix = random.prefix(base);
        world.add(prefix);
        if random.below(50) > 0 {
            world.remove(prefix);
        }
    }
    let mut copy = Levels::new(&fresh, SCANT);
    world.levels.copy_to(&mut copy);
    assert!(!copy.is_worth_copying());
    for listed in &world.listed.0 {
        assert_eq!(copy.tells(*listed), world.levels.tells(*listed), "{listed}");
    }
    let newcomer = Prefix::covering(1 << 112, 30);
    world.levels.make_way(newcomer);
    copy.make_way(newcomer);
    assert_eq!([world.levels.tells(newcomer), copy.tells(newcomer)], [false, true]);
    fresh.table.replace(memory.table.borrow().clone());
    for listed in &world.listed.0 {
        let beside = [listed.first().wrapping_sub(1), listed.last().wrapping_add(1)];
        for address in [listed.first(), listed.last()].into_iter().chain(beside) {
            let met = is_met(&&fresh, SCANT, &world.table, address);
            assert_eq!(met, world.listed.blocks(address), "{address:x}");
        }
    }
}

/// Adds two batches. The second finds pages, nodes (some of them classed), and words that list everything
/// below them.
#[test]
fn allocated_words_equal_the_counted_words() {
    for seed in 0..40 {
        let memory = Memory::new(ROOMY);
        let (mut world, mut random) = (World::new(&memory, ROOMY), Random(seed));
        for _ in 0..2 {
            let batch: Vec<Prefix6> = (0..60).map(|_| random.prefix(BASE)).collect();
            let mut ways: Vec<Way> = batch.iter().filter_map(|prefix| Way::to(*prefix)).collect();
            ways.sort_unstable();
            let joined = ways.chunk_by(|one, other| one.joined(*other).is_some());
            let joined = joined
                .map(|row| row.iter().copied().reduce(|one, other| one.joined(other).expect("one /24")));
            let (counted, before) = (world.levels.words_for(joined.flatten(), u32::MAX), world.levels.free());
            batch.into_iter().for_each(|prefix| world.add(prefix));
            assert_eq!(before - world.levels.free(), counted, "seed {seed}");
        }
    }
}

/// A reader that loads each word at some moment, never earlier than the one before. `script` gives the
/// moments.
struct Reader<'a> {
    before: &'a Memory,
    log: &'a [(u32, u64)],
    now: Cell<usize>,
    script: &'a RefCell<Vec<(usize, usize)>>,
    at: Cell<usize>,
}

impl Words for Reader<'_> {
    fn load(&self, index: u32) -> u64 {
        let now = self.now.get();
        let later = (now + 1..=self.log.len()).filter(|moment| self.log[moment - 1].0 == index);
        let moments: Vec<_> = core::iter::once(now).chain(later).collect();
        let mut script = self.script.borrow_mut();
        if script.len() == self.at.get() {
            script.push((0, moments.len()));
        }
        self.now.set(moments[script[self.at.get()].0]);
        self.at.set(self.at.get() + 1);
        let stores = self.log[..self.now.get()].iter().rev();
        let last = stores.into_iter().find(|(at, _)| *at == index);
        last.map_or_else(|| self.before.load(index), |(_, word)| *word)
    }
}

/// All verdicts possible for a reader that begins at or after the first moment and ends by the last.
fn verdicts(
    before: &Memory,
    log: &[(u32, u64)],
    from: usize,
    world: &World,
    address: u128,
) -> BTreeSet<bool> {
    let mut met = BTreeSet::new();
    for begin in from..=log.len() {
        let script = RefCell::new(Vec::new());
        loop {
            let reader = Reader { before, log, now: Cell::new(begin), script: &script, at: Cell::new(0) };
            met.insert(is_met(&reader, world.levels.size(), &world.table, address));
            // Advances the script like an odometer.
            let mut digits = script.borrow_mut();
            while digits.last().is_some_and(|(digit, base)| digit + 1 == *base) {
                digits.pop();
            }
            match digits.last_mut() {
                Some((digit, _)) => *digit += 1,
                None => break,
            }
        }
    }
    met
}

/// Runs random batches of additions, a grace period, and removals, each with every interleaving of a reader.
/// Returns the first error.
fn wrong(seeds: core::ops::Range<u64>, has_grace: bool) -> Option<std::string::String> {
    for seed in seeds {
        let mut random = Random(seed);
        let memory = Memory::new(SCANT);
        let mut world = World::new(&memory, SCANT);
        for _ in 0..random.below(6) {
            world.add(random.prefix(BASE));
        }
        for _ in 0..4 {
            let before = Memory::new(SCANT);
            before.levels.iter().zip(&memory.levels).for_each(|(to, from)| to.set(from.get()));
            before.table.replace(memory.table.borrow().clone());
            memory.log.borrow_mut().clear();
            let old = world.listed.clone();
            for _ in 0..random.below(3) {
                world.add(random.prefix(BASE));
            }
            let (grace, between) = (memory.log.borrow().len(), world.listed.clone());
            let leaving: Vec<_> = world.listed.0.iter().copied().filter(|_| random.below(3) == 0).collect();
            leaving.into_iter().take(2).for_each(|prefix| world.remove(prefix));
            let log = memory.log.borrow().clone();
            if log.len() > 24 {
                continue;
            }
            for _ in 0..6 {
                let address = random.near(BASE);
                let listed = [&old, &between, &world.listed].map(|listed| listed.blocks(address));
                let must = match listed {
                    [true, _, true] => true,
                    [false, false, false] => false,
                    _ => continue,
                };
                let met = if has_grace {
                    let first = verdicts(&before, &log[..grace], 0, &world, address);
                    &first | &verdicts(&before, &log, grace, &world, address)
                } else {
                    verdicts(&before, &log, 0, &world, address)
                };
                if met != BTreeSet::from([must]) {
                    return Some(format!(
                        "{address:x} is to be {must}, seed {seed}: {met:?}, stores {log:x?}"
                    ));
                }
            }
        }
    }
    None
}

#[test]
fn every_interleaved_reader_gets_correct_verdicts() {
    assert_eq!(wrong(0..400, true), None);
}

#[test]
fn missing_grace_period_loses_a_prefix() {
    assert!(wrong(0..400, false).is_some());
}
