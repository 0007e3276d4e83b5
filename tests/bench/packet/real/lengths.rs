//! The table that is asked once for each length in use, filled: how filterd looked IPv6 prefixes up before.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use aya::maps::Map;
use aya::{Ebpf, EbpfLoader};
use filter_common::WordsMut;
use filter_common::target::{Address, Prefix6};
use filterd::kernel::window::Window;
use real::chance::Chance;

#[path = "../../../../filter-ebpf/bench/packet/lengths.rs"]
mod scheme;

use crate::subject::Stage;
use scheme::{BUCKET, Fingerprint, MOST, across};

pub const PROGRAM: &str = "bench_lengths6";

/// Somebody is moved so often before there is no room.
const MOVES: usize = 10_000;

/// Loads it with these prefixes.
pub fn load(stage: &Stage<'_>, prefixes: &[Prefix6]) -> Result<Ebpf> {
    let lengths: BTreeSet<u8> = prefixes.iter().map(Prefix6::length).collect();
    let lengths: Vec<u8> = lengths.into_iter().collect();
    ensure!(lengths.len() <= MOST, "there are {} lengths", lengths.len());
    let (bits, words) = fill(prefixes, &lengths)?;
    let mut masks = [0; 2 * MOST];
    for (at, &length) in lengths.iter().enumerate() {
        let mask = !u128::beyond(length);
        masks[2 * at] = (mask >> 64) as u64;
        masks[2 * at + 1] = mask as u64;
    }
    let (used, index_bits) = ((lengths.len() as u64).to_ne_bytes(), u64::from(bits).to_ne_bytes());
    let mut loader = EbpfLoader::new();
    loader.map_max_entries("WORDS", words.len() as u32);
    loader.override_global("LENGTHS", &used[..], true).override_global("INDEX_BITS", &index_bits[..], true);
    loader.override_global("MASKS", &masks[..], true);
    let object = stage.load(PROGRAM, &mut loader)?;
    let Map::Array(map) = object.map("WORDS").context("no map WORDS")? else {
        bail!("words lie in no array")
    };
    let window = Window::open(map.fd(), words.len() as u32)?;
    (0..).zip(words).for_each(|(at, word)| window.store(at, word));
    Ok(object)
}

/// The bits of the index, and all words: the smallest table that is at most 95 % full.
fn fill(prefixes: &[Prefix6], lengths: &[u8]) -> Result<(u32, Vec<u64>)> {
    let slots = (prefixes.len() as u64 * 100).div_ceil(95).next_power_of_two().max(512);
    let bits = slots.ilog2() - BUCKET.ilog2();
    let mut words = vec![0; slots as usize];
    let mut chance = Chance::new("moves", 1);
    for prefix in prefixes {
        let number = lengths.binary_search(&prefix.length()).expect("it is one of them") as u64;
        let address = prefix.address();
        let fingerprint = Fingerprint::of((address >> 64) as u64, address as u64, number);
        insert(&mut words, fingerprint, bits, &mut chance).context("there is no room")?;
    }
    Ok((bits, words))
}

/// Whoever finds no room takes somebody's, who looks for his other bucket.
fn insert(words: &mut [u64], new: Fingerprint, bits: u32, chance: &mut Chance) -> Option<()> {
    let [first, second] = new.buckets(bits);
    let free = |words: &[u64], bucket: u32| {
        (bucket * BUCKET..(bucket + 1) * BUCKET).map(|at| at as usize).find(|&at| words[at] == 0)
    };
    let (mut bucket, mut code) = (second, new.code);
    if let Some(at) = free(words, first) {
        words[at] = code;
        return Some(());
    }
    for _ in 0..MOVES {
        if let Some(at) = free(words, bucket) {
            words[at] = code;
            return Some(());
        }
        let at = u64::from(bucket * BUCKET) + chance.below(BUCKET.into());
        std::mem::swap(&mut words[at as usize], &mut code);
        bucket = across(bucket, code, bits);
    }
    None
}
