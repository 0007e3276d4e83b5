//! Where the words of a table live: a BPF map seen by the program, the same map seen by the daemon, or memory.

use core::cell::Cell;

/// Words that can be read one at a time, each by a single load.
pub trait Words {
    /// The word at `index`, which is one of them.
    fn load(&self, index: u32) -> u64;

    /// Those from the word `first` on.
    #[inline(always)]
    fn rest(&self, first: u32) -> impl Words {
        Rest { words: self, first }
    }

    /// Those from this byte on, with which a word begins.
    #[inline(always)]
    fn rest_at(&self, byte: u64) -> impl Words {
        Rest { words: self, first: (byte / 8) as u32 }
    }
}

/// Words that can also be changed, each by a single store.
///
/// Stores take `&self`: readers on other processors look on while they happen.
pub trait WordsMut: Words {
    /// Replaces the word at `index`.
    fn store(&self, index: u32, word: u64);

    /// The same, unless it is this word already: what readers have near stays there.
    fn change(&self, index: u32, word: u64) {
        if self.load(index) != word {
            self.store(index, word);
        }
    }
}

/// All but the first of some words.
#[derive(Clone, Copy, Debug)]
pub struct Rest<W> {
    words: W,
    first: u32,
}

impl<W> Rest<W> {
    /// Those of `words` from the word `first` on.
    pub const fn new(words: W, first: u32) -> Self {
        Self { words, first }
    }

    /// All of them.
    pub const fn all(&self) -> &W {
        &self.words
    }

    /// The same, to be replaced.
    pub const fn all_mut(&mut self) -> &mut W {
        &mut self.words
    }

    /// The number of the first.
    pub const fn first(&self) -> u32 {
        self.first
    }
}

impl<W: Words> Words for Rest<W> {
    fn load(&self, index: u32) -> u64 {
        self.words.load(self.first + index)
    }
}

impl<W: WordsMut> WordsMut for Rest<W> {
    fn store(&self, index: u32, word: u64) {
        self.words.store(self.first + index, word);
    }
}

impl<W: Words + ?Sized> Words for &W {
    #[inline(always)]
    fn load(&self, index: u32) -> u64 {
        (**self).load(index)
    }

    #[inline(always)]
    fn rest(&self, first: u32) -> impl Words {
        (**self).rest(first)
    }

    #[inline(always)]
    fn rest_at(&self, byte: u64) -> impl Words {
        (**self).rest_at(byte)
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
        self[index as usize].get()
    }
}

impl WordsMut for [Cell<u64>] {
    fn store(&self, index: u32, word: u64) {
        self[index as usize].set(word);
    }
}
