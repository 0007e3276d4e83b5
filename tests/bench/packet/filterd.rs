//! filterd under test: its programs and tables as the daemon itself makes them, but for what a feature says.

use std::fs;
use std::os::fd::AsFd;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use aya::maps::{Map, MapData, ProgramArray};
use aya::programs::{ProgramFd, ProgramInfo, Xdp};
use aya::{Ebpf, EbpfLoader};
use aya_obj::programs::XdpAttachType;
use filter_common::cuckoo::scheme::{ONE_KIND, Token};
use filter_common::labels::{Counters, OTHER};
use filter_common::ports::{Clause, Range};
use filter_common::stash::{self, Stash};
use filter_common::target::{Prefix4, Prefix6, Target};
use filterd::blocklist::{
    Blocklist, Change, Effects, Meaning, Origin, Polarity, Settings, Targets, Timestamp, Want,
};
use filterd::daemon::needs;
use filterd::kernel::Filter;
use filterd::kernel::samples::Samples;
use filterd::kernel::window::Window;
use harness::Home;

use crate::crowd;
use crate::judge;
use crate::peer::{BESIDE, Feature, LENGTHS};
use crate::subject::Stage;

/// A root, a judge and their tables.
pub struct Filterd {
    root: Xdp,
    other: Option<Other>,
    filter: Filter,
    /// Where drops are told in full, if they are.
    ring: Option<Samples>,
    // Dropped last: the pins.
    home: Home,
}

/// A judge of the benchmark's own.
struct Other {
    object: Ebpf,
    name: &'static str,
}

impl Filterd {
    /// Blocks so many. A table that is made anew is filled out of what is wanted, so that must be all of them.
    pub fn blocking(feature: Feature, entries: u32, stage: &Stage<'_>) -> Result<Self> {
        let mut wanted = crate::subject::wanted(targets(feature, entries))?;
        let is_everything = feature == Feature::Everything;
        if is_everything {
            let allow =
                Change::Want(Want::live("allowed", Polarity::Allow, (0..BESIDE).flat_map(allowed).collect()));
            wanted.apply(&allow, Timestamp::from_secs(0))?;
        }
        for clause in 0..feature.clauses() {
            restrict(&mut wanted, clause, on_ports(feature, clause))?;
        }
        let settings = Settings {
            enforce: feature != Feature::Counting,
            counters: if is_everything { Counters::Lists } else { Counters::Total },
            match_new: is_everything,
            ..Settings::default()
        };
        let mut this = Self::with(&wanted, Some(settings))?;
        match feature {
            Feature::Stashed => this.fill_stash()?,
            Feature::Uncounted => this.other = Some(this.replaced_by("bench_judge_uncounted", stage)?),
            Feature::Unstashed => this.other = Some(this.replaced_by("bench_judge_unstashed", stage)?),
            Feature::Shipped
            | Feature::Counting
            | Feature::Prefixes
            | Feature::BesideSix
            | Feature::Both
            | Feature::Everything
            | Feature::Six
            | Feature::SixLengths
            | Feature::Ports(_)
            | Feature::SixPorts(_) => {}
        }
        Ok(this)
    }

    /// Blocks what this blocklist does, as it says.
    pub fn enforcing(blocklist: &Blocklist) -> Result<Self> {
        Self::with(blocklist, None)
    }

    /// The same where drops are counted all together, whatever it says.
    pub fn uncounted_for_lists(blocklist: &Blocklist) -> Result<Self> {
        Self::with(blocklist, Some(Settings { counters: Counters::Total, ..Settings::default() }))
    }

    /// The same with these settings, if any, in the place of its own.
    fn with(blocklist: &Blocklist, settings: Option<Settings>) -> Result<Self> {
        let home = Home::new();
        let mut filter = Filter::open(home.pins())?;
        filter.reserve(&needs::anew(blocklist), blocklist)?;
        let everything = blocklist.everything();
        filter.apply(&Effects { settings: settings.or(everything.settings), ..everything }, blocklist)?;
        let root = Xdp::from_pin(home.pins().join("root"), XdpAttachType::Interface)?;
        Ok(Self { root, other: None, filter, ring: None, home })
    }

    /// The same, while somebody watches drops.
    pub fn watched(mut self) -> Result<Self> {
        self.ring = Some(self.filter.sample()?);
        Ok(self)
    }

    /// What it has told is read, so that there is room for more. So many samples were there.
    pub fn read(&mut self) -> usize {
        self.ring.as_mut().map_or(0, |ring| ring.take(usize::MAX).len())
    }

    /// What packets are sent to.
    pub fn entry(&self) -> Result<&ProgramFd> {
        Ok(self.root.fd()?)
    }

    /// The programs that a packet goes through.
    pub fn programs(&self) -> Result<Vec<ProgramInfo>> {
        let judge = match &self.other {
            Some(other) => other.program()?.info()?,
            None => judge::at_work(self.home.pins())?,
        };
        Ok(vec![self.root.info()?, judge])
    }

    /// Puts a judge of the benchmark's own into the slot. It has the settings and the addresses of the one that is there.
    fn replaced_by(&self, name: &'static str, stage: &Stage<'_>) -> Result<Other> {
        let settings = judge::settings(&judge::at_work(self.home.pins())?)?;
        let addresses = self.addresses()?;
        let mut loader = EbpfLoader::new();
        loader.override_global("SETTINGS", &settings[..], true);
        let pins = self.home.pins();
        let (addresses, counters) =
            (MapData::from_pin(addresses)?, MapData::from_pin(pins.join("counters"))?);
        let maps = [("ADDRESSES", addresses.fd().as_fd()), ("COUNTERS", counters.fd().as_fd())];
        let object = stage.load_with(name, &mut loader, &maps)?;
        let other = Other { object, name };
        let slot = MapData::from_pin(pins.join("next"))?;
        ProgramArray::try_from(Map::ProgramArray(slot))?.set(0, other.program()?.fd()?, 0)?;
        Ok(other)
    }

    /// Where the table of addresses is pinned.
    fn addresses(&self) -> Result<PathBuf> {
        let mut pins = fs::read_dir(self.home.pins().join("tables"))?.flatten();
        let found = pins.find(|pin| pin.file_name().to_string_lossy().starts_with("addresses-"));
        Ok(found.context("the addresses are pinned")?.path())
    }

    /// Lets an entry that nobody sends from into the stash.
    fn fill_stash(&self) -> Result<()> {
        let words = Window::open(MapData::from_pin(self.addresses()?)?.fd(), stash::WORDS)?;
        ensure!(
            Stash::new(&words).insert(Token { kind: ONE_KIND, bits: u64::MAX }, OTHER),
            "the stash is full"
        );
        Ok(())
    }
}

impl Other {
    fn program(&self) -> Result<&Xdp> {
        Ok(self.object.program(self.name).context("it is loaded")?.try_into()?)
    }
}

/// The first of the crowd, and what is beside them.
fn targets(feature: Feature, entries: u32) -> Targets {
    let numbers = 0..entries;
    let hosts = numbers.clone().map(host);
    let beside = 0..BESIDE;
    match feature {
        Feature::Shipped | Feature::Counting | Feature::Stashed | Feature::Uncounted | Feature::Unstashed => {
            hosts.collect()
        }
        Feature::Ports(_) => hosts.collect(),
        Feature::Prefixes => hosts.chain(beside.map(slash24)).collect(),
        Feature::BesideSix => hosts.chain(beside.map(net64)).collect(),
        Feature::Both | Feature::Everything => {
            hosts.chain(beside.clone().map(slash24)).chain(beside.map(net)).collect()
        }
        Feature::Six | Feature::SixPorts(_) => numbers.map(net64).collect(),
        Feature::SixLengths => numbers.map(net).collect(),
    }
}

/// What is blocked by the clause of this number: the last of the crowd, so that hardly anybody is among them.
fn on_ports(feature: Feature, clause: u16) -> Targets {
    let target = if matches!(feature, Feature::SixPorts(_)) { net64 } else { host };
    let before = u32::from(clause) * BESIDE;
    (before..before + BESIDE).map(|number| target(u32::MAX - number)).collect()
}

/// A list that blocks these on one port.
fn restrict(blocklist: &mut Blocklist, number: u16, targets: Targets) -> Result<()> {
    let port = Range::new(number + 1, number + 1).context("one port is a range")?;
    let clause = Clause::new(false, [port]).ok().context("one port is not too many")?;
    let name = format!("bench{number}");
    let meaning = Meaning { ports: Some(clause), ..Meaning::plain(Polarity::Block) };
    let make = Change::Make { name: name.as_str().into(), origin: Origin::File, meaning };
    blocklist.apply(&make, Timestamp::from_secs(0))?;
    let want = Want { origin: Origin::File, ..Want::live(name, Polarity::Block, targets) };
    blocklist.apply(&Change::Want(want), Timestamp::from_secs(0))?;
    Ok(())
}

fn host(number: u32) -> Target {
    Prefix4::host(crowd::address(number)).into()
}

/// Around the last of the crowd, so that hardly anybody is in one who is not listed by himself.
fn slash24(number: u32) -> Target {
    Prefix4::covering(crowd::address(u32::MAX - number), 24).into()
}

fn net64(number: u32) -> Target {
    covering(number, 64)
}

/// Of each length in turn.
fn net(number: u32) -> Target {
    covering(number, LENGTHS[number as usize % LENGTHS.len()])
}

/// A source of each family that is blocked by a prefix.
fn allowed(number: u32) -> [Target; 2] {
    [Prefix4::host(crowd::address(u32::MAX - number)).into(), covering(number, 128)]
}

fn covering(number: u32, length: u8) -> Target {
    Prefix6::covering(u128::from(crowd::network(number)) << 64, length).into()
}
