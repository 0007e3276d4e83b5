//! Access to the words of a table: a BPF map in the program, the same map in the daemon, or plain memory.

use core::cell::Cell;

/// Words that can be read one at a time, each by a single load.
pub trait Words {
    /// The word at `index`, which must exist.
    fn load(&self, index: u32) -> u64;

    /// The words from number `first` on.
    #[inline(always)]
    fn rest(&self, first: u32) -> impl Words {
        Rest { words: self, first }
    }

    /// The words from this byte on. A word must begin at it.
    #[inline(always)]
    fn rest_at(&self, byte: u64) -> impl Words {
        Rest { words: self, first: (byte / 8) as u32 }
    }
}

/// Words that can also be changed, each by a single store.
///
/// Stores take `&self`, because readers on other processors read at the same time.
pub trait WordsMut: Words {
    /// Replaces the word at `index`.
    fn store(&self, index: u32, word: u64);

    /// Replaces the word at `index` only if it differs. An unchanged word stays in the caches of readers.
    fn change(&self, index: u32, word: u64) {
        if self.load(index) != word {
            self.store(index, word);
        }
    }
}

/// The words that remain after the first ones are skipped.
#[derive(Clone, Copy, Debug)]
pub struct Rest<W> {
    words: W,
    first: u32,
}

impl<W> Rest<W> {
    /// The words of `words` from number `first` on.
    pub const fn new(words: W, first: u32) -> Self {
        Self { words, first }
    }

    /// All words, including the skipped ones.
    pub const fn all(&self) -> &W {
        &self.words
    }

    /// Mutable access to all words, so that they can be replaced.
    pub const fn all_mut(&mut self) -> &mut W {
        &mut self.words
    }

    /// The number of the first word.
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

/// Plain memory, for tables that no packet reads.
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
