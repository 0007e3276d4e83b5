//! All ways through a program, with what each register holds as far as loads of words depend on it.
//!
//! Where a word lies tells what it is: the stash comes first, and of it the hot word is at a fixed place; behind them lie
//! the buckets, and second homes take the multiplier that spreads them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use filter_common::cuckoo::six;
use filter_common::stash;
use filter_common::width::Width;

use super::instruction::{Instruction, OURS};

/// What a number was calculated from: any of these bits.
type Origin = u8;
const NOTHING: Origin = 0;
const MULTIPLIER: Origin = 1;
const ANYTHING_ELSE: Origin = 2;

/// Those that spread second homes, for 64 and for 32 bits: what spreads 1 is the factor itself. Where a constant shift comes
/// before it, the compiler makes one of both.
const MULTIPLIERS: [i64; 3] = [
    Width::new(64).spread(1) as i64,
    Width::new(64).spread(1 << six::TAG_BITS) as i64,
    Width::new(32).spread(1) as u32 as i32 as i64,
];

/// The maps whose words change under running readers, and the bytes of the stash that they begin with. The first ones
/// have neither homes nor a stash.
const MAPS: [(&str, i64); 13] = [
    ("NETWORKS", 0),
    ("LEVELS", 0),
    ("ALLOW_NETWORKS", 0),
    ("ALLOW_LEVELS", 0),
    ("CLAUSE_NETWORKS", 0),
    ("CLAUSE_LEVELS", 0),
    (OVERLAP, 0),
    ("ADDRESSES", STASH),
    ("SIX", STASH),
    ("ALLOW_ADDRESSES", STASH),
    ("ALLOW_SIX", STASH),
    ("CLAUSE_ADDRESSES", STASH),
    ("CLAUSE_SIX", STASH),
];
const WITHOUT_ORDER: usize = 7;

/// The word behind which what allows is looked up.
const OVERLAP: &str = "OVERLAP";

/// The maps of the set to block, which come before it.
const BLOCK: [&str; 4] = ["NETWORKS", "LEVELS", "ADDRESSES", "SIX"];

/// The bytes of a stash.
const STASH: i64 = 8 * stash::WORDS as i64;

/// What lies at a place, in the order in which it must be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Place {
    FirstHome,
    SecondHome,
    HotWord,
    Way,
}
use Place::{FirstHome, HotWord, SecondHome, Way};

/// Into a map's words: so many bytes from its beginning, and whatever was added to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pointer {
    map: usize,
    at: i64,
    added: Origin,
    /// The instruction that made it, so that copies of it are known.
    site: usize,
    /// Which of the words around there have been loaded, a bit for each.
    loaded: u64,
}

/// What a register or a slot of the stack holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Content {
    Constant(i64),
    Number(Origin),
    /// The settings, or a map that only this packet's processor writes.
    Other,
    Stack(i64),
    Words(Pointer),
}
use Content::{Constant, Number, Other, Stack, Words};

/// Where a way through the program has come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    at: usize,
    registers: [Content; 11],
    stack: BTreeMap<i64, Content>,
    /// What was loaded last of each map.
    last: [Option<Place>; MAPS.len()],
}

/// One line for each load that is not as it must be, and for each kind of load that is not there.
///
/// A function of the program's is walked by itself, whatever called it.
pub fn complaints(functions: &[Vec<Instruction>]) -> Vec<String> {
    let mut walk = Walk { complaints: BTreeSet::new(), seen: BTreeSet::new() };
    for function in functions {
        let mut ways = vec![State::at_the_beginning()];
        // It is called after a miss in what blocks on all ports, and asks the clauses by calls of its own.
        if function.iter().any(Instruction::asks_a_clause) {
            ways[0].last[0] = Some(FirstHome);
        }
        let mut known = HashSet::new();
        while let Some(state) = ways.pop() {
            if known.insert(state.clone()) {
                ways.extend(walk.follow(state, function));
            }
        }
    }
    walk.note_absent();
    walk.complaints.into_iter().collect()
}

/// The maps of all clauses are alike, and so are the functions that look into them.
fn of_any_clause(symbol: &str) -> String {
    match symbol.strip_prefix('C').and_then(|rest| rest.split_once('_')) {
        Some((slot, map)) if slot.parse::<u8>().is_ok() => format!("CLAUSE_{map}"),
        _ => symbol.to_owned(),
    }
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
        let is_ours = instruction.symbol.as_ref().is_some_and(|function| function.starts_with(OURS));
        if instruction.source != 0 && !is_ours {
            self.complain(state, "it calls a function, into which this check does not look");
        }
        // It looks a source up in what blocks on some ports.
        if instruction.asks_a_clause() || instruction.calls("filterd_by_port") {
            state.last[0] = Some(FirstHome);
        }
        state.registers[0] = Number(ANYTHING_ELSE);
        state.registers[1..=5].fill(Number(NOTHING));
    }

    fn load(&mut self, state: &mut State, instruction: &Instruction) {
        let offset = i64::from(instruction.offset);
        state.registers[instruction.target] = match state.registers[instruction.source] {
            Words(pointer) => {
                self.load_word(state, instruction, pointer);
                Number(ANYTHING_ELSE)
            }
            Stack(base) => state.stack.get(&(base + offset)).copied().unwrap_or(Number(ANYTHING_ELSE)),
            Constant(_) | Number(_) | Other => Number(ANYTHING_ELSE),
        };
    }

    fn load_word(&mut self, state: &mut State, instruction: &Instruction, pointer: Pointer) {
        const WHOLE_WORD: u8 = 0x79;
        let at = pointer.at + i64::from(instruction.offset);
        if instruction.code != WHOLE_WORD || at % 8 != 0 {
            self.complain(state, "a word is not read by one load of 64 bits");
        }
        let (place, bit) = (pointer.place(at), 1 << (at / 8 % 64));
        // One lookup after the other asks the hot word; that it does so in its turn is seen below.
        if pointer.loaded & bit != 0 && place != HotWord {
            self.complain(state, "a word is loaded twice");
        }
        state.note_loaded(pointer.site, bit);
        self.note(state, pointer.map, place);
    }

    fn store(&mut self, state: &mut State, instruction: &Instruction) {
        match state.registers[instruction.target] {
            Stack(base) => {
                let is_register = instruction.code & 7 == 3;
                let stored = if is_register { state.registers[instruction.source] } else { Number(NOTHING) };
                state.stack.insert(base + i64::from(instruction.offset), stored);
            }
            Words(_) => self.complain(state, "a word of the daemon's is written or read atomically"),
            Constant(_) | Number(_) | Other => {}
        }
    }

    fn calculate(&mut self, state: &mut State, instruction: &Instruction) {
        const ADD: u8 = 0x0;
        const MOVE: u8 = 0xB;
        let (operation, is_register) = (instruction.code >> 4, instruction.code & 8 != 0);
        let immediate = Constant(instruction.immediate.into());
        let right = if is_register { state.registers[instruction.source] } else { immediate };
        let left = state.registers[instruction.target];
        state.registers[instruction.target] = match (operation, left, right) {
            (MOVE, _, right) => right,
            (ADD, Stack(base), Constant(number)) => Stack(base + number),
            (ADD, Words(pointer), Constant(number)) => Words(Pointer { at: pointer.at + number, ..pointer }),
            (ADD, Words(pointer), number @ Number(_)) | (ADD, number @ Number(_), Words(pointer)) => {
                let added = pointer.added | number.origin() | ANYTHING_ELSE;
                Words(Pointer { added, site: state.at, loaded: 0, ..pointer })
            }
            (_, Words(_), _) => {
                self.complain(state, "it calculates with a pointer to a word");
                Number(ANYTHING_ELSE)
            }
            (_, left, right) => Number(left.origin() | right.origin()),
        };
    }

    /// Both ways.
    fn branch(&self, state: State, instruction: &Instruction) -> Vec<State> {
        let to = |distance: i32| state.at.wrapping_add_signed(distance as isize + 1);
        match instruction.code {
            0x05 => vec![State { at: to(instruction.offset.into()), ..state }],
            0x06 => vec![State { at: to(instruction.immediate), ..state }],
            _ => vec![
                State { at: to(instruction.offset.into()), ..state.clone() },
                State { at: state.at + 1, ..state },
            ],
        }
    }

    /// A word of this kind is loaded now.
    fn note(&mut self, state: &mut State, map: usize, place: Place) {
        self.seen.insert((map, place));
        if MAPS[map].0 == OVERLAP && !state.has_loaded(&BLOCK) {
            self.complain(state, "what allows is asked before what blocks");
        }
        if map < WITHOUT_ORDER {
            state.last[map] = Some(place);
            return;
        }
        let last = &mut state.last[map];
        let is_in_order = match place {
            FirstHome => *last != Some(SecondHome),
            SecondHome => matches!(last, Some(FirstHome | SecondHome)),
            HotWord => *last == Some(SecondHome),
            Way => matches!(last, Some(HotWord | Way)),
        };
        let before = last.replace(place);
        if !is_in_order {
            let before = before.map_or("nothing".to_owned(), |place| format!("{place:?}"));
            self.complain(state, &format!("{place:?} of {} is loaded after {before}", MAPS[map].0));
        }
    }

    fn note_absent(&mut self) {
        let homes = [FirstHome, SecondHome, HotWord, Way];
        let expected = (WITHOUT_ORDER..MAPS.len()).flat_map(|map| homes.map(|place| (map, place)));
        let expected = expected.chain((0..WITHOUT_ORDER).map(|map| (map, FirstHome)));
        for (map, place) in expected.filter(|expected| !self.seen.contains(expected)) {
            self.complaints.insert(format!("{place:?} of {} is never loaded", MAPS[map].0));
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

    /// A number of 64 bits, or the address of a map's words or of the settings. It takes the place of two instructions.
    fn constant(&mut self, first: &Instruction, second: i32) {
        let number = u64::from(first.immediate as u32) | u64::from(second as u32) << 32;
        let words = |map| Words(Pointer { map, at: number as i64, added: NOTHING, site: self.at, loaded: 0 });
        self.registers[first.target] = match &first.symbol {
            Some(symbol) => {
                let name = of_any_clause(symbol);
                MAPS.iter().position(|(map, _)| *map == name).map_or(Other, words)
            }
            None => Constant(number as i64),
        };
        self.at += 1;
    }

    /// Has anything of one of these maps been loaded?
    fn has_loaded(&self, maps: &[&str]) -> bool {
        let mut loaded = MAPS.iter().zip(&self.last).filter(|(_, last)| last.is_some());
        loaded.any(|((map, _), _)| maps.contains(map))
    }

    /// Wherever there is a pointer that this instruction made.
    fn note_loaded(&mut self, made_by: usize, bit: u64) {
        for content in self.registers.iter_mut().chain(self.stack.values_mut()) {
            if let Words(pointer) = content
                && pointer.site == made_by
            {
                pointer.loaded |= bit;
            }
        }
    }
}

impl Content {
    fn origin(self) -> Origin {
        match self {
            Constant(number) if MULTIPLIERS.contains(&number) => MULTIPLIER,
            Constant(_) => NOTHING,
            Number(origin) => origin,
            Other | Stack(_) | Words(_) => ANYTHING_ELSE,
        }
    }
}

impl Pointer {
    /// What lies so many bytes from the beginning, and what was added to that.
    fn place(self, at: i64) -> Place {
        let (_, stash) = MAPS[self.map];
        if at < stash {
            return if self.added == NOTHING { HotWord } else { Way };
        }
        if self.added & MULTIPLIER != 0 { SecondHome } else { FirstHome }
    }
}

#[cfg(test)]
mod tests;
