//! Cuckoo hashing of whole keys: each has `d` nests, and a pending entry may push others on to theirs.
//!
//! With two nests, each in an array of its own, it is Pagh and Rodler's (ESA 2001); with more in one array it is the
//! d-ary one of Fotakis et al. (2005). Both search breadth first, as RocksDB's cuckoo tables do, and the path found is
//! walked from its free end. Of RocksDB are the blocks, too: a choice is not one nest, but several neighbouring ones.

use std::collections::VecDeque;

use crate::hash::{below, hash};
use crate::{Filter, Forget, Full};

/// Nests for whole keys. Zero is no key.
#[derive(Clone, Debug)]
pub struct Nests {
    slots: Vec<u64>,
    choices: u64,
    arrays: Arrays,
    block: u64,
}

/// Whether each choice has an array of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrays {
    /// As many as there are choices.
    Own,
    /// One for all.
    Shared,
}

/// The most nests that one search looks at.
const MOST: usize = 4096;

/// A nest that a search has come to, and the step before it.
struct Step {
    slot: usize,
    from: Option<usize>,
}

impl Nests {
    /// At least this many empty nests, of which each key has `choices`.
    pub fn new(slots: u64, choices: u64, arrays: Arrays) -> Self {
        Self { slots: vec![0; (slots.next_multiple_of(choices)) as usize], choices, arrays, block: 1 }
    }

    /// The same in one array, and each choice is a block of so many neighbouring nests. A block may begin at any nest but the
    /// last few.
    pub fn in_blocks(slots: u64, choices: u64, block: u64) -> Self {
        Self { block, ..Self::new(slots, choices, Arrays::Shared) }
    }

    /// How many keys it could hold, were every nest taken.
    pub fn slots(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    fn nests(&self, key: u64) -> impl Iterator<Item = usize> + use<> {
        let (slots, arrays, block) = (self.slots(), self.arrays, self.block);
        let each = slots / self.choices;
        let seed = hash(key);
        (0..self.choices).flat_map(move |choice| {
            let hash = hash(seed.wrapping_add(choice));
            let nest = match arrays {
                Arrays::Own => choice * each + below(hash, each),
                Arrays::Shared => below(hash, slots - (block - 1)),
            };
            (nest..nest + block).map(|nest| nest as usize)
        })
    }

    /// A shortest path, from a nest of `key` to an empty one, told from its end.
    fn path(&self, key: u64) -> Option<Vec<usize>> {
        let mut steps: Vec<Step> = self.nests(key).map(|slot| Step { slot, from: None }).collect();
        let mut waiting: VecDeque<usize> = (0..steps.len()).collect();
        while let Some(number) = waiting.pop_front() {
            let slot = steps[number].slot;
            if self.slots[slot] == 0 {
                return Some(trace(&steps, number));
            }
            for nest in self.nests(self.slots[slot]).filter(|&nest| nest != slot) {
                if steps.len() < MOST {
                    waiting.push_back(steps.len());
                    steps.push(Step { slot: nest, from: Some(number) });
                }
            }
        }
        None
    }
}

fn trace(steps: &[Step], last: usize) -> Vec<usize> {
    let before = |&number: &usize| steps[number].from;
    std::iter::successors(Some(last), before).map(|number| steps[number].slot).collect()
}

impl Filter for Nests {
    fn insert(&mut self, key: u64) -> Result<(), Full> {
        if let Some(empty) = self.nests(key).find(|&nest| self.slots[nest] == 0) {
            self.slots[empty] = key;
            return Ok(());
        }
        let path = self.path(key).ok_or(Full)?;
        for pair in path.windows(2) {
            self.slots[pair[0]] = self.slots[pair[1]];
        }
        self.slots[*path.last().expect("a path has an end")] = key;
        Ok(())
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.nests(key).any(|nest| self.slots[nest] == key)
    }

    fn bits(&self) -> u64 {
        self.slots() * 64
    }
}

impl Forget for Nests {
    fn remove(&mut self, key: u64) {
        if let Some(nest) = self.nests(key).find(|&nest| self.slots[nest] == key) {
            self.slots[nest] = 0;
        }
    }
}
