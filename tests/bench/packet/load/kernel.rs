//! The kernel's own maps, filled from userspace address by address.

use std::process::Command;

use anyhow::{Context, Result};
use aya::Ebpf;
use aya::programs::Xdp;
use serde_json::Value;

use super::{Fill, timed};
use crate::rivals;
use crate::subject::Stage;

type Filling = fn(&Stage<'_>, u32) -> Result<Ebpf>;

const MAPS: [(&str, &str, Filling); 5] = [
    ("BPF hash map", "bench_hash", rivals::hash),
    ("BPF per-CPU hash map", "bench_per_cpu", rivals::per_cpu),
    ("BPF LPM trie", "bench_trie", rivals::trie),
    ("BPF bloom filter", "bench_bloom", rivals::bloom),
    ("xdp-filter, its limit raised", rivals::XDP_FILTER, |_, entries| rivals::xdp_filter(entries)),
];

/// Fills each map, once. What is beyond a million says nothing new, and a trie of that size is slow to throw away.
pub fn fills(stage: &Stage<'_>, entries: u32) -> Result<Vec<Fill>> {
    const MOST: u32 = 1_000_000;
    let maps = MAPS.iter().filter(|_| entries <= MOST);
    maps.map(|(way, program, filling)| {
        let (object, took) = timed(|| filling(stage, entries));
        let bytes = Some(memory(&object?, program)?);
        Ok(Fill { way, entries, seconds: vec![took.as_secs_f64()], bytes })
    })
    .collect()
}

/// Bytes of all maps of a program.
fn memory(object: &Ebpf, program: &str) -> Result<u64> {
    let program: &Xdp = object.program(program).context("it is loaded")?.try_into()?;
    program.info()?.map_ids()?.context("the kernel tells a program's maps")?.into_iter().map(bytes).sum()
}

/// Bytes that the kernel has charged for a map.
pub fn bytes(map: u32) -> Result<u64> {
    let output = Command::new("bpftool").args(["--json", "map", "show", "id", &map.to_string()]).output()?;
    let told: Value = serde_json::from_slice(&output.stdout).context("bpftool tells no map")?;
    told["bytes_memlock"].as_u64().context("the kernel tells no size")
}
