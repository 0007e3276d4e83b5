//! The maps a judge looks things up in, and its settings.
//!
//! Words that the daemon changes meanwhile are read by one volatile load each: only that compiles to the single
//! 64-bit load that never sees half a bucket.
#![allow(unsafe_code, reason = "words that the daemon changes are read through raw pointers")]

use aya_ebpf::btf_maps::{Array, PerCpuArray};
use aya_ebpf::macros::btf_map;
use filter_common::settings::{self, Setting, Settings};
use filter_common::verdict::{Reason, Tables};
use filter_common::{Words, networks, stash};

/// BPF_F_MMAPABLE: the daemon writes these maps through a window in its own memory.
const MMAPABLE: usize = 1 << 10;

/// Sizes of tables are set when they are loaded; these are the smallest.
#[btf_map]
static ADDRESSES: Array<u64, { (256 + stash::WORDS) as usize }, MMAPABLE> = Array::new();
#[btf_map]
static NETWORKS: Array<u64, { networks::WORDS as usize }, MMAPABLE> = Array::new();
#[btf_map]
static SIX: Array<u64, { (512 + 2 * stash::WORDS) as usize }, MMAPABLE> = Array::new();

/// Packets by reason.
#[btf_map]
pub static COUNTERS: PerCpuArray<u64, { Reason::ALL.len() }> = PerCpuArray::new();

#[unsafe(no_mangle)]
static SETTINGS: Settings = [0; settings::WORDS];

/// All of them.
pub struct Maps;

impl Tables for Maps {
    #[inline(always)]
    fn setting(&self, setting: Setting) -> u64 {
        let word = &raw const SETTINGS[setting];
        // SAFETY: the word is a static. Volatile, because the loader gives it its value after compilation.
        unsafe { word.read_volatile() }
    }

    #[inline(always)]
    fn addresses(&self) -> impl Words {
        Window(&ADDRESSES)
    }

    #[inline(always)]
    fn networks(&self) -> impl Words {
        Window(&NETWORKS)
    }

    #[inline(always)]
    fn six(&self) -> impl Words {
        Window(&SIX)
    }
}

/// A map as words.
struct Window<const WORDS: usize>(&'static Array<u64, WORDS, MMAPABLE>);

impl<const WORDS: usize> Words for Window<WORDS> {
    #[inline(always)]
    fn load(&self, index: u32) -> u64 {
        match self.0.get_ptr(index) {
            // SAFETY: the map gave this pointer to a word of its own, which lives as long as the program runs.
            Some(word) => unsafe { word.read_volatile() },
            None => 0,
        }
    }
}
