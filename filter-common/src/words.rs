//! Where the words of a table live: a BPF map seen by the program, the same map seen by the daemon, or memory.

use core::cell::Cell;

/// Words that can be read one at a time, each by a single load.
pub trait Words {
    /// The word at `index`, or zero beyond the end.
    fn load(&self, index: u32) -> u64;
}

/// Words that can also be changed, each by a single store.
///
/// Stores take `&self`: readers on other processors look on while they happen.
pub trait WordsMut: Words {
    /// Replaces the word at `index`.
    fn store(&self, index: u32, word: u64);
}

impl<W: Words + ?Sized> Words for &W {
    #[inline(always)]
    fn load(&self, index: u32) -> u64 {
        (**self).load(index)
    }
}

impl<W: WordsMut + ?Sized> WordsMut for &W {
    #[inline(always)]
    fn store(&self, index: u32, word: u64) {
        (**self).store(index, word);
    }
}

/// Plain memory, for tables that nobody reads yet.
impl Words for [Cell<u64>] {
    fn load(&self, index: u32) -> u64 {
        self.get(index as usize).map_or(0, Cell::get)
    }
}

impl WordsMut for [Cell<u64>] {
    fn store(&self, index: u32, word: u64) {
        self[index as usize].set(word);
    }
}
