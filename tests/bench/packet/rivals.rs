//! The maps that others keep their lists in, filled with the first of the crowd.

use std::path::PathBuf;

use anyhow::{Context, Result};
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{BloomFilter, HashMap, Map, MapData, PerCpuHashMap, PerCpuValues};
use aya::programs::Xdp;
use aya::util::nr_cpus;
use aya::{Ebpf, EbpfLoader};
use filter_common::target::{Prefix4, Prefix6};
use harness::Home;

use crate::crowd;
use crate::subject::Stage;

/// The program that `xdp-filter load --features ipv4,ipv6` attaches.
pub const XDP_FILTER: &str = "xdpfilt_alw_ip";

/// Where Debian's libraries of BPF objects lie.
const LIBRARIES: [&str; 3] = ["usr/lib/x86_64-linux-gnu/bpf", "usr/lib/aarch64-linux-gnu/bpf", "usr/lib/bpf"];

/// Below which directory they do, if not below the root: the package may be unpacked and not installed.
const PACKAGE: &str = "FILTERD_BENCH_PACKAGE";

pub fn hash(stage: &Stage<'_>, entries: u32) -> Result<Ebpf> {
    let mut object = sized(stage, "bench_hash", "HASH", entries)?;
    let mut map: HashMap<_, u32, u64> = map(&mut object, "HASH")?.try_into()?;
    (0..entries).try_for_each(|number| map.insert(crowd::address(number), 0, 0))?;
    Ok(object)
}

pub fn per_cpu(stage: &Stage<'_>, entries: u32) -> Result<Ebpf> {
    let mut object = sized(stage, "bench_per_cpu", "PER_CPU", entries)?;
    let map = map(&mut object, "PER_CPU")?.try_into()?;
    fill_per_cpu(map, 0, (0..entries).map(crowd::address))?;
    Ok(object)
}

pub fn trie(stage: &Stage<'_>, entries: u32) -> Result<Ebpf> {
    trie_of(stage, entries, (0..entries).map(|number| Prefix4::host(crowd::address(number))))
}

/// A trie of so many prefixes, which are read from their first bit on.
pub fn trie_of(stage: &Stage<'_>, count: u32, prefixes: impl Iterator<Item = Prefix4>) -> Result<Ebpf> {
    let mut object = sized(stage, "bench_trie", "TRIE", count)?;
    let mut map: LpmTrie<_, u32, u32> = map(&mut object, "TRIE")?.try_into()?;
    for prefix in prefixes {
        map.insert(&Key::new(prefix.length().into(), prefix.address().to_be()), 0, 0)?;
    }
    Ok(object)
}

/// The same for IPv6.
pub fn trie6_of(stage: &Stage<'_>, count: u32, prefixes: impl Iterator<Item = Prefix6>) -> Result<Ebpf> {
    let mut object = sized(stage, "bench_trie6", "TRIE6", count)?;
    let mut map: LpmTrie<_, [u8; 16], u32> = map(&mut object, "TRIE6")?.try_into()?;
    for prefix in prefixes {
        map.insert(&Key::new(prefix.length().into(), prefix.address().to_be_bytes()), 0, 0)?;
    }
    Ok(object)
}

pub fn bloom(stage: &Stage<'_>, entries: u32) -> Result<Ebpf> {
    let mut object = sized(stage, "bench_bloom", "BLOOM", entries)?;
    let mut map: BloomFilter<_, u32> = map(&mut object, "BLOOM")?.try_into()?;
    (0..entries).try_for_each(|number| map.insert(crowd::address(number), 0))?;
    Ok(object)
}

/// Debian's own program. As installed it takes 10,000 addresses and no more.
pub fn xdp_filter(entries: u32) -> Result<Ebpf> {
    const BLOCKS_SOURCE: u64 = 1;
    let root = std::env::var_os(PACKAGE).map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let file = LIBRARIES.map(|library| root.join(library).join(XDP_FILTER).with_extension("o"));
    let file = file.iter().find(|file| file.exists()).context("xdp-filter has no BPF objects here")?;
    // It insists on pins; they are gone with the home, and the maps live on in the object.
    let home = Home::new();
    std::fs::create_dir(home.pins())?;
    let mut loader = EbpfLoader::new();
    loader.default_map_pin_directory(home.pins()).map_max_entries("filter_ipv4", entries);
    let mut object = loader.load_file(file).with_context(|| format!("cannot load {}", file.display()))?;
    let program: &mut Xdp = object.program_mut(XDP_FILTER).context("it has this program")?.try_into()?;
    program.load()?;
    let map = map(&mut object, "filter_ipv4")?.try_into()?;
    fill_per_cpu(map, BLOCKS_SOURCE, (0..entries).map(|number| crowd::address(number).to_be()))?;
    Ok(object)
}

fn sized(stage: &Stage<'_>, program: &str, map: &str, entries: u32) -> Result<Ebpf> {
    stage.load(program, EbpfLoader::new().map_max_entries(map, entries))
}

fn map<'a>(object: &'a mut Ebpf, name: &str) -> Result<&'a mut Map> {
    object.map_mut(name).with_context(|| format!("no map {name}"))
}

fn fill_per_cpu(
    mut map: PerCpuHashMap<&mut MapData, u32, u64>,
    value: u64,
    keys: impl Iterator<Item = u32>,
) -> Result<()> {
    let processors = nr_cpus().map_err(|(_, error)| error).context("cannot count the processors")?;
    for key in keys {
        map.insert(key, PerCpuValues::try_from(vec![value; processors])?, 0)?;
    }
    Ok(())
}
