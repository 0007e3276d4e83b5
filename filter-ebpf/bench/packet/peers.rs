//! What filterd is measured against: the maps that others look their lists up in.
#![allow(unsafe_code, reason = "values of maps are reached by raw pointers")]

use aya_ebpf::btf_maps::lpm_trie::Key;
use aya_ebpf::btf_maps::{Array, BloomFilter, HashMap, LpmTrie, PerCpuHashMap};
use aya_ebpf::macros::btf_map;
use filter_common::hash::Address6;

use crate::lengths::{self, Fingerprint};

const MMAPABLE: usize = 1 << 10;

/// Sizes are set when they are loaded.
#[btf_map]
static WORDS: Array<u64, 1, MMAPABLE> = Array::new();
#[btf_map]
static HASH: HashMap<u32, u64, 1> = HashMap::new();
#[btf_map]
static PER_CPU: PerCpuHashMap<u32, u64, 1> = PerCpuHashMap::new();
#[btf_map]
static TRIE: LpmTrie<u32, u32, 1> = LpmTrie::new();
#[btf_map]
static TRIE6: LpmTrie<[u64; 2], u32, 1> = LpmTrie::new();
#[btf_map]
static BLOOM: BloomFilter<u32, 1> = BloomFilter::new();

/// How many bits number the words.
#[unsafe(no_mangle)]
static INDEX_BITS: u64 = 0;

#[allow(improper_ctypes, reason = "an array of no length is how C tells of the beginning of one")]
unsafe extern "C" {
    /// The words of the floor, at an address that the program is loaded with, as filterd's tables are.
    static FLOOR: [u64; 0];
}

/// How many lengths are in use, and the mask of each; and how many bits number the buckets of `WORDS`.
#[unsafe(no_mangle)]
static LENGTHS: u64 = 0;
#[unsafe(no_mangle)]
static MASKS: [[u64; 2]; lengths::MOST] = [[0; 2]; lengths::MOST];

/// The word that would tell of `address`.
#[inline(always)]
pub fn word_for(address: u32) -> u64 {
    let word = (&raw const FLOOR).cast::<u64>().wrapping_add(index_for(address) as usize);
    // SAFETY: it is one of the map's words, as the verifier has made sure.
    unsafe { word.read_volatile() }
}

/// The same in an array map.
#[inline(always)]
pub fn word_in_array(address: u32) -> u64 {
    word(index_for(address))
}

#[inline(always)]
fn index_for(address: u32) -> u32 {
    (u64::from(address).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - setting(&INDEX_BITS))) as u32
}

/// Is `address` in the hash map?
#[inline(always)]
pub fn hash_holds(address: u32) -> bool {
    HASH.get_ptr(address).is_some()
}

/// Is `address` in the hash map that has a value for each processor?
#[inline(always)]
pub fn per_cpu_holds(address: u32) -> bool {
    PER_CPU.get_ptr(address).is_some()
}

/// Is `address` in the trie of prefixes? Those are read from their first bit on.
#[inline(always)]
pub fn trie_holds(address: u32) -> bool {
    TRIE.get(&Key::new(u32::BITS, address.to_be())).is_some()
}

/// Is `address` in the trie of IPv6 prefixes?
#[inline(always)]
pub fn trie6_holds(address: Address6) -> bool {
    TRIE6.get(&Key::new(u128::BITS, [address.high.to_be(), address.low.to_be()])).is_some()
}

/// Is a prefix around `address` in the table that is asked once for each length?
#[inline(always)]
pub fn lengths_hold(address: Address6) -> bool {
    let bits = setting(&INDEX_BITS) as u32;
    let mut number = 0;
    while number < lengths::MOST && (number as u64) < setting(&LENGTHS) {
        let [high, low] = [setting(&MASKS[number][0]), setting(&MASKS[number][1])];
        let fingerprint = Fingerprint::of(address.high & high, address.low & low, number as u64);
        let mut found = 0;
        for bucket in fingerprint.buckets(bits) {
            // In a loop the verifier loses the bound of the index.
            let first = (bucket & ((1 << bits) - 1)) * lengths::BUCKET;
            let mut at = 0;
            while at < lengths::BUCKET {
                let differs = word(first + at) ^ fingerprint.code;
                found |= !(differs | differs.wrapping_neg()) >> 63;
                at += 1;
            }
        }
        if found != 0 {
            return true;
        }
        number += 1;
    }
    false
}

#[inline(always)]
fn word(at: u32) -> u64 {
    match WORDS.get_ptr(at) {
        // SAFETY: the map gave this pointer to a word of its own.
        Some(word) => unsafe { word.read_volatile() },
        None => 0,
    }
}

#[inline(always)]
fn setting(setting: &'static u64) -> u64 {
    let word = &raw const *setting;
    // SAFETY: it is a static. Volatile, because the loader gives it its value after compilation.
    unsafe { word.read_volatile() }
}

/// Does the bloom filter know `address`? It says so of some unlisted sources, too.
#[inline(always)]
pub fn bloom_holds(address: u32) -> bool {
    BLOOM.contains(address).is_ok()
}
