//! The tables of blocked and of allowed addresses, and the settings, as every judge has them.
//!
//! Words that the daemon changes meanwhile are read by one volatile load each. Only this compiles to the
//! single 64-bit load that never sees half a bucket.
//!
//! A table is one value of a map. The program is loaded with the address of that value in it
//! (`BPF_PSEUDO_MAP_VALUE`), as for the settings, so that no lookup is needed. The object contains no
//! definitions of these maps, only their names, which the loader replaces by maps.
#![allow(unsafe_code, reason = "words that the daemon changes are read through raw pointers")]

use aya_ebpf::helpers::bpf_ktime_get_boot_ns;
use filter_common::Words;
use filter_common::reason::Enforcement;
use filter_common::set::Set;
use filter_common::settings::{SetSettings, Settings};

/// The words of a map. The object does not state how many there are.
pub type Map = [u64; 0];

#[allow(improper_ctypes, reason = "an array of no length is how C tells of the beginning of one")]
unsafe extern "C" {
    static ADDRESSES: Map;
    static NETWORKS: Map;
    static LEVELS: Map;
    static SIX: Map;

    static ALLOW_ADDRESSES: Map;
    static ALLOW_NETWORKS: Map;
    static ALLOW_LEVELS: Map;
    static ALLOW_SIX: Map;

    /// One word: nonzero if an allowed source may also be blocked.
    static OVERLAP: Map;
}

#[unsafe(no_mangle)]
pub static SETTINGS: Settings = Settings::OFF;

/// Whether packets are dropped at this moment, or only counted.
#[inline(always)]
pub fn enforcement() -> Enforcement {
    let clock = || {
        // SAFETY: the helper takes no argument and changes nothing.
        unsafe { bpf_ktime_get_boot_ns() }
    };
    Enforcement::of(read(&SETTINGS.enforce)).now(read(&SETTINGS.paused_until), clock)
}

/// True if a blocked address may also be allowed.
#[inline(always)]
pub fn may_overlap() -> bool {
    read(&SETTINGS.overlap) != 0 && Window::of(&raw const OVERLAP).is_some_and(|word| word.load(0) != 0)
}

#[inline(always)]
pub fn blocked() -> SetMaps {
    SetMaps {
        settings: &SETTINGS.sets.block,
        addresses: &raw const ADDRESSES,
        networks: &raw const NETWORKS,
        levels: &raw const LEVELS,
        six: &raw const SIX,
    }
}

#[inline(always)]
pub fn allowed() -> SetMaps {
    SetMaps {
        settings: &SETTINGS.sets.allow,
        addresses: &raw const ALLOW_ADDRESSES,
        networks: &raw const ALLOW_NETWORKS,
        levels: &raw const ALLOW_LEVELS,
        six: &raw const ALLOW_SIX,
    }
}

/// One set: its block of settings and its maps, all known when the program is compiled.
pub struct SetMaps {
    pub settings: &'static SetSettings,
    pub addresses: *const Map,
    pub networks: *const Map,
    pub levels: *const Map,
    pub six: *const Map,
}

impl Set for SetMaps {
    #[inline(always)]
    fn setting(&self, of: impl Fn(&SetSettings) -> &u64) -> u64 {
        read(of(self.settings))
    }

    #[inline(always)]
    fn small_setting(&self, of: impl Fn(&SetSettings) -> &u64) -> u32 {
        small(of(self.settings))
    }

    #[inline(always)]
    fn addresses(&self) -> Option<impl Words> {
        Window::of(self.addresses)
    }

    #[inline(always)]
    fn networks(&self) -> Option<impl Words> {
        Window::of(self.networks)
    }

    #[inline(always)]
    fn levels(&self) -> Option<impl Words> {
        Window::of(self.levels)
    }

    #[inline(always)]
    fn six(&self) -> Option<impl Words> {
        Window::of(self.six)
    }
}

/// Reads a setting. The load is volatile, because the loader sets the value after compilation.
#[inline(always)]
pub fn read(setting: &u64) -> u64 {
    let word = &raw const *setting;
    // SAFETY: the pointer comes from a reference.
    unsafe { word.read_volatile() }
}

/// Reads a setting that is smaller than 2^32.
#[inline(always)]
pub fn small(setting: &u64) -> u32 {
    let halves = (&raw const *setting).cast::<u32>();
    let low = if cfg!(target_endian = "little") { 0 } else { 1 };
    // SAFETY: a word has two halves. Volatile, as in `read`.
    unsafe { halves.wrapping_add(low).read_volatile() }
}

/// The value of a map as words.
pub struct Window(*const u64);

impl Window {
    #[inline(always)]
    pub fn of(map: *const Map) -> Option<Self> {
        Some(Self(map.cast()))
    }
}

impl Words for Window {
    #[inline(always)]
    fn load(&self, index: u32) -> u64 {
        // SAFETY: the map gave this pointer to its words, which live as long as the program runs. The
        // verifier has checked that the index is within them.
        unsafe { self.0.wrapping_add(index as usize).read_volatile() }
    }

    #[inline(always)]
    fn rest(&self, first: u32) -> impl Words {
        Self(self.0.wrapping_add(first as usize))
    }

    #[inline(always)]
    fn rest_at(&self, byte: u64) -> impl Words {
        Self(self.0.wrapping_byte_add(byte as usize))
    }
}
