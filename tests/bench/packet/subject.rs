//! The programs under test, loaded, with their tables filled.

use anyhow::{Context, Result};
use aya::programs::{ProgramFd, ProgramInfo, Xdp, loaded_programs};
use aya::{Ebpf, EbpfLoader};
use aya_obj::programs::XdpAttachType;
use filter_common::cuckoo::geometry::Geometry;
use filter_common::target::{Prefix4, Prefix6, Target};
use filterd::blocklist::{Blocklist, Claim, Effects, Kind, Moment, Targets};
use filterd::daemon::needs;
use filterd::kernel::Table;
use harness::Home;

use crate::crowd;
use crate::plan::{PREFIXES, Peer, Spec};
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

/// filterd's programs and tables, as the daemon itself makes them.
struct Filterd {
    root: Xdp,
    table: Table,
    // Dropped last: the pins.
    home: Home,
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
            Peer::Hash => Program::Bench(rivals::hash(self, spec.entries)?, "bench_hash"),
            Peer::PerCpu => Program::Bench(rivals::per_cpu(self, spec.entries)?, "bench_per_cpu"),
            Peer::Trie => Program::Bench(rivals::trie(self, spec.entries)?, "bench_trie"),
            Peer::Bloom => Program::Bench(rivals::bloom(self, spec.entries)?, "bench_bloom"),
            Peer::XdpFilter => Program::Bench(rivals::xdp_filter(spec.entries)?, rivals::XDP_FILTER),
            Peer::Filterd | Peer::FilterdPrefixes | Peer::FilterdSix => {
                Program::Filterd(Box::new(Filterd::blocking(targets(spec))?))
            }
        };
        Ok(Subject { spec: *spec, program })
    }

    /// Loads one program of the object by a loader that knows what its maps and settings are to be.
    pub fn load(&self, name: &str, loader: &mut EbpfLoader<'_>) -> Result<Ebpf> {
        let mut object =
            loader.load(self.object).with_context(|| format!("cannot load the object of {name}"))?;
        let program: &mut Xdp =
            object.program_mut(name).with_context(|| format!("no program {name}"))?.try_into()?;
        program.load().with_context(|| format!("cannot load {name}"))?;
        Ok(object)
    }

    fn floor(&self, entries: u32) -> Result<Ebpf> {
        let geometry = geometry(entries)?;
        let bits = u64::from(geometry.index_bits()).to_ne_bytes();
        let mut loader = EbpfLoader::new();
        loader.map_max_entries("WORDS", geometry.words()).override_global("INDEX_BITS", &bits[..], true);
        self.load("bench_load", &mut loader)
    }
}

impl Subject {
    /// What packets are sent to.
    pub fn entry(&self) -> Result<&ProgramFd> {
        Ok(match &self.program {
            Program::Bench(object, name) => object.program(name).context("it is loaded")?.fd()?,
            Program::Filterd(filterd) => filterd.root.fd()?,
        })
    }

    /// Loads anew what costs little to load: where the kernel puts a program is a matter of chance that can make a
    /// nanosecond's difference.
    pub fn reload(&mut self) -> Result<()> {
        match &mut self.program {
            Program::Filterd(filterd) => filterd.reload(),
            Program::Bench(..) => Ok(()),
        }
    }

    /// The programs that a packet goes through, by name.
    pub fn programs(&self) -> Result<Vec<ProgramInfo>> {
        match &self.program {
            Program::Bench(object, name) => {
                let program: &Xdp = object.program(name).context("it is loaded")?.try_into()?;
                Ok(vec![program.info()?])
            }
            Program::Filterd(filterd) => Ok(vec![filterd.root.info()?, filterd.judge()?]),
        }
    }
}

impl Filterd {
    fn blocking(targets: Targets) -> Result<Self> {
        let home = Home::new();
        let mut table = Table::open(home.pins())?;
        let mut blocklist = Blocklist::default();
        let list = blocklist.lists_mut().get_or_make("bench", Kind::Live).expect("it is the first list");
        table.reserve(&needs::with(&blocklist, targets.iter()), &blocklist)?;
        let mut effects = Effects::default();
        let claim = Claim { list, since: Moment::now(), until: None, note: None };
        blocklist.extend(&targets, &claim, &mut effects);
        table.carry_out(&effects, &blocklist)?;
        let root = Xdp::from_pin(home.pins().join("root"), XdpAttachType::Interface)?;
        Ok(Self { root, table, home })
    }

    /// Publishes another judge, then this one again.
    fn reload(&mut self) -> Result<()> {
        for enforce in [false, true] {
            self.table.enforce(enforce);
            self.table.carry_out(&Effects::default(), &Blocklist::default())?;
        }
        Ok(())
    }

    /// The judge at work: the newest that counts in our counters.
    fn judge(&self) -> Result<ProgramInfo> {
        let counters = aya::maps::MapInfo::from_pin(self.home.pins().join("counters"))?.id();
        let is_ours = |program: &ProgramInfo| {
            let maps = program.map_ids().ok().flatten().unwrap_or_default();
            program.name_as_str() == Some("filterd_judge") && maps.contains(&counters)
        };
        loaded_programs().flatten().filter(is_ours).max_by_key(ProgramInfo::id).context("no judge is loaded")
    }
}

fn geometry(entries: u32) -> Result<Geometry> {
    Geometry::exact4_for(entries.into()).context("no table is that large")
}

/// The first of the crowd, as targets.
fn targets(spec: &Spec) -> Targets {
    let numbers = 0..spec.entries;
    if spec.peer == Peer::FilterdSix {
        return numbers.map(net64).collect();
    }
    let prefixes = if spec.peer == Peer::FilterdPrefixes { PREFIXES } else { 0 };
    numbers.map(host).chain((0..prefixes).map(slash24)).collect()
}

fn host(number: u32) -> Target {
    Prefix4::host(crowd::address(number)).into()
}

/// Around the last of the crowd, so that hardly anybody is in one who is not listed by himself.
fn slash24(number: u32) -> Target {
    Prefix4::covering(crowd::address(u32::MAX - number), 24).into()
}

fn net64(number: u32) -> Target {
    Prefix6::covering(u128::from(crowd::network(number)) << 64, 64).into()
}
