//! Maps a BPF array into memory: the daemon writes a word by one store, and the next packet reads it.
#![allow(unsafe_code, reason = "the one room in which kernel memory is mapped")]

use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use filter_common::{Words, WordsMut};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// The words of one BPF array map that was created with BPF_F_MMAPABLE.
#[derive(Debug)]
pub struct Window {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the memory is shared with the kernel anyway, and every access to it is atomic.
unsafe impl Send for Window {}

impl Window {
    /// Maps the `words` words of `map`.
    pub fn open(map: impl AsFd, words: u32) -> nix::Result<Self> {
        let words = words as usize;
        let length = NonZeroUsize::new(words * size_of::<u64>()).expect("a table has words");
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory of this
        // process.
        let start = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, map, 0) }?;
        Ok(Self { start: start.cast(), words })
    }

    pub fn bytes(&self) -> u64 {
        (self.words * size_of::<u64>()) as u64
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page aligned, holds this many words, and lives as long as `self`. Zeroed
        // words are valid, and both sides access them only as whole words.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Words for Window {
    fn load(&self, index: u32) -> u64 {
        self.words().get(index as usize).map_or(0, |word| word.load(Ordering::Acquire))
    }
}

impl WordsMut for Window {
    fn store(&self, index: u32, word: u64) {
        self.words()[index as usize].store(word, Ordering::Release);
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `open` made, and no reference into it outlives `self`.
        let unmapped = unsafe { munmap(self.start.cast(), self.words * size_of::<u64>()) };
        debug_assert!(unmapped.is_ok(), "unmapping what was mapped cannot fail");
    }
}
