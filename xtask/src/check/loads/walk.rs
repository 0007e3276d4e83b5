//! All ways through a program, with what each register holds as far as loads of words depend on it.
//!
//! What an index was calculated from tells what lies there: second homes take the multiplier that spreads them, the
//! hot word the setting where the stash begins and nothing else, the stash's ways that setting and the key.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::Instruction;

/// What a number was calculated from: any of these bits.
type Origin = u8;
const NOTHING: Origin = 0;
const STASH: Origin = 1;
const MULTIPLIER: Origin = 2;
const ANYTHING_ELSE: Origin = 4;

/// That of `filter_common::cuckoo::scheme::offset`.
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
/// Where the settings `STASH4` and `STASH6` of `filter_common::settings` stand.
const STASH_SETTINGS: [i32; 2] = [6 * 8, 10 * 8];

/// The maps whose words change under running readers. The first has no homes and no stash.
const MAPS: [&str; 3] = ["NETWORKS", "ADDRESSES", "SIX"];
const WITHOUT_ORDER: usize = 0;

/// What lies at an index, in the order in which it must be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Place {
    FirstHome,
    SecondHome,
    HotWord,
    Way,
}
use Place::{FirstHome, HotWord, SecondHome, Way};

/// A word that a lookup found: of which map, what it is, and which instruction looked it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Word {
    map: usize,
    place: Place,
    site: usize,
}

/// What a register or a slot of the stack holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Content {
    Number(Origin),
    Settings,
    Map(Option<usize>),
    Stack(i32),
    /// A pointer to a word that is not loaded yet.
    Unloaded(Word),
    /// A pointer to one that is.
    Loaded(Word),
}
use Content::{Loaded, Map, Number, Settings, Stack, Unloaded};

/// Where a way through the program has come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    at: usize,
    registers: [Content; 11],
    stack: BTreeMap<i32, Content>,
    /// What was loaded last of each map.
    last: [Option<Place>; MAPS.len()],
}

/// One line for each load that is not as it must be, and for each kind of load that is not there.
pub fn complaints(program: &[Instruction]) -> Vec<String> {
    let mut walk = Walk { complaints: BTreeSet::new(), seen: BTreeSet::new() };
    let mut ways = vec![State::at_the_beginning()];
    let mut known = HashSet::new();
    while let Some(state) = ways.pop() {
        if known.insert(state.clone()) {
            ways.extend(walk.follow(state, program));
        }
    }
    walk.note_absent();
    walk.complaints.into_iter().collect()
}

struct Walk {
    complaints: BTreeSet<String>,
    seen: BTreeSet<(usize, Place)>,
}

impl Walk {
    /// To the next branch, or to the end.
    fn follow(&mut self, mut state: State, program: &[Instruction]) -> Vec<State> {
        loop {
            let Some(instruction) = program.get(state.at) else {
                self.complain(&state, "it runs beyond its end");
                return Vec::new();
            };
            match instruction.code {
                0x95 => return Vec::new(),
                0x85 => self.call(&mut state, instruction),
                0x18 => {
                    state.constant(instruction, program.get(state.at + 1).map_or(0, |next| next.immediate))
                }
                code => match code & 7 {
                    1 => self.load(&mut state, instruction),
                    2 | 3 => self.store(&mut state, instruction),
                    4 | 7 => self.calculate(&mut state, instruction),
                    _ => return self.branch(state, instruction),
                },
            }
            state.at += 1;
        }
    }

    fn call(&mut self, state: &mut State, instruction: &Instruction) {
        const LOOKUP: i32 = 1;
        if instruction.source != 0 {
            self.complain(state, "it calls a function, into which this check does not look");
        }
        state.registers[0] = match (instruction.immediate, state.registers[1]) {
            (LOOKUP, Map(Some(map))) => {
                Unloaded(Word { map, place: state.place_asked_for(), site: state.at })
            }
            _ => Number(ANYTHING_ELSE),
        };
        state.registers[1..=5].fill(Number(NOTHING));
    }

    fn load(&mut self, state: &mut State, instruction: &Instruction) {
        const WHOLE_WORD: u8 = 0x79;
        let offset = i32::from(instruction.offset);
        let loaded = match state.registers[instruction.source] {
            Unloaded(word) => {
                if instruction.code != WHOLE_WORD || offset != 0 {
                    self.complain(state, "a word is not read by one load of 64 bits");
                }
                self.note(state, word);
                state.replace(word.site, Loaded(word));
                Number(ANYTHING_ELSE)
            }
            Loaded(_) => {
                self.complain(state, "a word is loaded twice");
                Number(ANYTHING_ELSE)
            }
            Stack(base) => state.stack.get(&(base + offset)).copied().unwrap_or(Number(ANYTHING_ELSE)),
            Settings if STASH_SETTINGS.contains(&offset) => Number(STASH),
            Settings | Number(_) | Map(_) => Number(ANYTHING_ELSE),
        };
        state.registers[instruction.target] = loaded;
    }

    fn store(&mut self, state: &mut State, instruction: &Instruction) {
        match state.registers[instruction.target] {
            Stack(base) => {
                let is_register = instruction.code & 7 == 3;
                let stored = if is_register { state.registers[instruction.source] } else { Number(NOTHING) };
                state.stack.insert(base + i32::from(instruction.offset), stored);
            }
            Unloaded(_) | Loaded(_) => {
                self.complain(state, "a word of the daemon's is written or read atomically")
            }
            Number(_) | Settings | Map(_) => {}
        }
    }

    fn calculate(&mut self, state: &mut State, instruction: &Instruction) {
        const MOVE: u8 = 0xB;
        let (operation, is_register) = (instruction.code >> 4, instruction.code & 8 != 0);
        let right = if is_register { state.registers[instruction.source] } else { Number(NOTHING) };
        let left = state.registers[instruction.target];
        state.registers[instruction.target] = match (operation, left, right) {
            (MOVE, _, right) => right,
            (_, Stack(base), _) if !is_register => Stack(base + instruction.immediate),
            (_, Unloaded(_) | Loaded(_), _) => {
                self.complain(state, "it calculates with a pointer to a word");
                Number(ANYTHING_ELSE)
            }
            // Elsewhere than where it began: no longer at the stash's setting, that is.
            (_, Settings, _) => Number(ANYTHING_ELSE),
            (_, left, right) => Number(left.origin() | right.origin()),
        };
    }

    /// Both ways. Where a pointer is compared with zero, one of them has no word to load: that counts as loaded.
    fn branch(&mut self, state: State, instruction: &Instruction) -> Vec<State> {
        let to = |state: &State, distance: i32| state.at.wrapping_add_signed(distance as isize + 1);
        let (mut taken, mut straight) = (state.clone(), state.clone());
        taken.at = to(&state, instruction.offset.into());
        straight.at += 1;
        match instruction.code {
            0x05 => return vec![taken],
            0x06 => return vec![State { at: to(&state, instruction.immediate), ..state }],
            0x15 | 0x55 if instruction.immediate == 0 => {
                if let Unloaded(word) = state.registers[instruction.target] {
                    let without = if instruction.code == 0x15 { &mut taken } else { &mut straight };
                    self.note(without, word);
                    without.replace(word.site, Number(NOTHING));
                }
            }
            _ => {}
        }
        vec![taken, straight]
    }

    /// The word is loaded now.
    fn note(&mut self, state: &mut State, word: Word) {
        self.seen.insert((word.map, word.place));
        if word.map == WITHOUT_ORDER {
            return;
        }
        let last = &mut state.last[word.map];
        let is_in_order = match word.place {
            FirstHome => *last != Some(SecondHome),
            SecondHome => matches!(last, Some(FirstHome | SecondHome)),
            HotWord => *last == Some(SecondHome),
            Way => matches!(last, Some(HotWord | Way)),
        };
        let before = last.replace(word.place);
        if !is_in_order {
            let before = before.map_or("nothing".to_owned(), |place| format!("{place:?}"));
            self.complain(state, &format!("{:?} of {} is loaded after {before}", word.place, MAPS[word.map]));
        }
    }

    fn note_absent(&mut self) {
        let homes = [FirstHome, SecondHome, HotWord, Way];
        let expected =
            (1..MAPS.len()).flat_map(|map| homes.map(|place| (map, place))).chain([(0, FirstHome)]);
        for (map, place) in expected.filter(|expected| !self.seen.contains(expected)) {
            self.complaints.insert(format!("{place:?} of {} is never loaded", MAPS[map]));
        }
    }

    fn complain(&mut self, state: &State, complaint: &str) {
        self.complaints.insert(format!("instruction {}: {complaint}", state.at));
    }
}

impl State {
    fn at_the_beginning() -> Self {
        let mut registers = [Number(ANYTHING_ELSE); 11];
        registers[10] = Stack(0);
        Self { at: 0, registers, stack: BTreeMap::new(), last: [None; MAPS.len()] }
    }

    /// A number of 64 bits, or the address of a map or of the settings. It takes the place of two instructions.
    fn constant(&mut self, first: &Instruction, second: i32) {
        let number = u64::from(first.immediate as u32) | u64::from(second as u32) << 32;
        self.registers[first.target] = match first.symbol.as_deref() {
            Some("SETTINGS") if number == 0 => Settings,
            Some(symbol) => Map(MAPS.iter().position(|map| *map == symbol)),
            None if number == GOLDEN_RATIO => Number(MULTIPLIER),
            None => Number(NOTHING),
        };
        self.at += 1;
    }

    /// What lies at the index to which the second argument of a lookup points.
    fn place_asked_for(&self) -> Place {
        let index = match self.registers[2] {
            Stack(at) => self.stack.get(&at).map_or(ANYTHING_ELSE, |content| content.origin()),
            Number(_) | Settings | Map(_) | Unloaded(_) | Loaded(_) => ANYTHING_ELSE,
        };
        match index {
            STASH => HotWord,
            index if index & STASH != 0 => Way,
            index if index & MULTIPLIER != 0 => SecondHome,
            _ => FirstHome,
        }
    }

    /// Wherever the word that was looked up there is pointed to.
    fn replace(&mut self, site: usize, by: Content) {
        let is_it = |content: &&mut Content| matches!(content, Unloaded(word) if word.site == site);
        self.registers
            .iter_mut()
            .chain(self.stack.values_mut())
            .filter(is_it)
            .for_each(|content| *content = by);
    }
}

impl Content {
    fn origin(self) -> Origin {
        match self {
            Number(origin) => origin,
            Settings | Map(_) | Stack(_) | Unloaded(_) | Loaded(_) => ANYTHING_ELSE,
        }
    }
}

#[cfg(test)]
mod tests;
