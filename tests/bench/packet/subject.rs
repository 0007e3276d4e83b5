//! The programs under test, loaded, with their tables filled.

use std::os::fd::{AsFd, BorrowedFd};

use anyhow::{Context, Result};
use aya::maps::MapData;
use aya::programs::{ProgramFd, ProgramInfo, Xdp};
use aya::{Ebpf, EbpfLoader};
use filter_common::cuckoo::geometry::Geometry;
use filterd::blocklist::{Blocklist, Change, Polarity, Targets, Timestamp, Want};
use filterd::kernel::broker::tables;

use crate::filterd::Filterd;
use crate::peer::Peer;
use crate::plan::Spec;
use crate::rivals;

/// Where programs come from.
pub struct Stage<'a> {
    object: &'a [u8],
}

/// A program under test, with everything it needs.
pub struct Subject {
    pub spec: Spec,
    program: Program,
}

enum Program {
    /// One of the object's.
    Bench(Ebpf, &'static str),
    Filterd(Box<Filterd>),
}

/// A blocklist on which these targets are.
pub fn wanted(targets: Targets) -> Result<Blocklist> {
    let mut blocklist = Blocklist::default();
    let want = Change::Want(Want::live("bench", Polarity::Block, targets));
    blocklist.apply(&want, Timestamp::from_secs(0))?;
    Ok(blocklist)
}

impl<'a> Stage<'a> {
    /// The object with the senders and the peers.
    pub const fn new(object: &'a [u8]) -> Self {
        Self { object }
    }

    /// Loads what `spec` says, and lists the first of the crowd in it.
    pub fn subject(&self, spec: &Spec) -> Result<Subject> {
        let program = match spec.peer {
            Peer::Parse | Peer::ParseSix => {
                Program::Bench(self.load("bench_parse", &mut EbpfLoader::new())?, "bench_parse")
            }
            Peer::Load => Program::Bench(self.floor(spec.entries)?, "bench_load"),
            Peer::LoadInArray => Program::Bench(self.floor_in_array(spec.entries)?, "bench_load_in_array"),
            Peer::Hash => Program::Bench(rivals::hash(self, spec.entries)?, "bench_hash"),
            Peer::PerCpu => Program::Bench(rivals::per_cpu(self, spec.entries)?, "bench_per_cpu"),
            Peer::Trie => Program::Bench(rivals::trie(self, spec.entries)?, "bench_trie"),
            Peer::Bloom => Program::Bench(rivals::bloom(self, spec.entries)?, "bench_bloom"),
            Peer::XdpFilter => Program::Bench(rivals::xdp_filter(spec.entries)?, rivals::XDP_FILTER),
            Peer::Filterd(feature) => {
                Program::Filterd(Box::new(Filterd::blocking(feature, spec.entries, self)?))
            }
        };
        Ok(Subject { spec: *spec, program })
    }

    /// Loads one program of the object by a loader that knows what its maps and settings are to be.
    pub fn load(&self, name: &str, loader: &mut EbpfLoader<'_>) -> Result<Ebpf> {
        self.load_with(name, loader, &[])
    }

    /// The same with these tables in it.
    pub fn load_with(
        &self,
        name: &str,
        loader: &mut EbpfLoader<'_>,
        maps: &[(&str, BorrowedFd<'_>)],
    ) -> Result<Ebpf> {
        let object = tables::written(self.object, maps).with_context(|| format!("{name} is in no object"))?;
        let mut object = loader.load(&object).with_context(|| format!("cannot load the object of {name}"))?;
        let program: &mut Xdp =
            object.program_mut(name).with_context(|| format!("no program {name}"))?.try_into()?;
        program.load().with_context(|| format!("cannot load {name}"))?;
        Ok(object)
    }

    fn floor(&self, entries: u32) -> Result<Ebpf> {
        let geometry = as_large(entries)?;
        let bits = u64::from(geometry.index_bits()).to_ne_bytes();
        let mut loader = EbpfLoader::new();
        loader.override_global("INDEX_BITS", &bits[..], true);
        let floor = words("floor", geometry.words())?;
        self.load_with("bench_load", &mut loader, &[("FLOOR", floor.fd().as_fd())])
    }

    fn floor_in_array(&self, entries: u32) -> Result<Ebpf> {
        let geometry = as_large(entries)?;
        let bits = u64::from(geometry.index_bits()).to_ne_bytes();
        let mut loader = EbpfLoader::new();
        loader.override_global("INDEX_BITS", &bits[..], true).map_max_entries("WORDS", geometry.words());
        self.load("bench_load_in_array", &mut loader)
    }
}

/// The table that filterd makes for so many addresses.
fn as_large(entries: u32) -> Result<Geometry> {
    Geometry::exact4_for(entries.into()).context("no table is that large")
}

/// A map of so many words in one value, as filterd's tables are.
fn words(name: &str, words: u32) -> Result<MapData> {
    const ARRAY: u32 = 2;
    const MMAPABLE: u32 = 1 << 10;
    let definition = aya_obj::Map::new_from_params(ARRAY, 4, words * 8, 1, MMAPABLE);
    MapData::create(definition, name, None).with_context(|| format!("cannot make the map {name}"))
}

impl Subject {
    /// What packets are sent to.
    pub fn entry(&self) -> Result<&ProgramFd> {
        Ok(match &self.program {
            Program::Bench(object, name) => object.program(name).context("it is loaded")?.fd()?,
            Program::Filterd(filterd) => filterd.entry()?,
        })
    }

    /// The programs that a packet goes through, by name.
    pub fn programs(&self) -> Result<Vec<ProgramInfo>> {
        match &self.program {
            Program::Bench(object, name) => {
                let program: &Xdp = object.program(name).context("it is loaded")?.try_into()?;
                Ok(vec![program.info()?])
            }
            Program::Filterd(filterd) => filterd.programs(),
        }
    }
}
