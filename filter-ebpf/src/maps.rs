//! The maps a judge looks things up in, and its settings.
//!
//! Words that the daemon changes meanwhile are read by one volatile load each: only that compiles to the single
//! 64-bit load that never sees half a bucket.
#![allow(unsafe_code, reason = "words that the daemon changes are read through raw pointers")]

use aya_ebpf::btf_maps::{Array, PerCpuArray};
use aya_ebpf::macros::btf_map;
use filter_common::Words;
use filter_common::settings::{self, Setting, Settings};
use filter_common::verdict::{Reason, Tables};

/// BPF_F_MMAPABLE: the daemon writes these maps through a window in its own memory.
const MMAPABLE: usize = 1 << 10;

#[btf_map]
static ADDRESSES: Map = Array::new();
#[btf_map]
static NETWORKS: Map = Array::new();
#[btf_map]
static SIX: Map = Array::new();

type Map = Array<u64, 1, MMAPABLE>;

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
    fn small_setting(&self, setting: Setting) -> u32 {
        let halves = (&raw const SETTINGS[setting]).cast::<u32>();
        let low = if cfg!(target_endian = "little") { 0 } else { 1 };
        // SAFETY: as above; a word has two halves.
        unsafe { halves.wrapping_add(low).read_volatile() }
    }

    #[inline(always)]
    fn addresses(&self) -> Option<impl Words> {
        Window::of(&ADDRESSES)
    }

    #[inline(always)]
    fn networks(&self) -> Option<impl Words> {
        Window::of(&NETWORKS)
    }

    #[inline(always)]
    fn six(&self) -> Option<impl Words> {
        Window::of(&SIX)
    }
}

/// A map as words.
struct Window(*const u64);

impl Window {
    #[inline(always)]
    fn of(map: &'static Map) -> Option<Self> {
        map.get_ptr(0).map(Self)
    }
}

impl Words for Window {
    #[inline(always)]
    fn load(&self, index: u32) -> u64 {
        // SAFETY: the map gave this pointer to its words, which live as long as the program runs, and the verifier has
        // made sure that this is one of them.
        unsafe { self.0.wrapping_add(index as usize).read_volatile() }
    }

    #[inline(always)]
    fn rest(&self, first: u32) -> impl Words {
        Self(self.0.wrapping_add(first as usize))
    }
}
