//! A kernel in memory, for tests. Maps are files without a name, pins are a list, and a judge is its
//! blueprint. It refuses requests on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};

use filter_common::cuckoo::geometry::Geometry;
use filter_common::judge::judge_source;
use filter_common::labels::{self, Label};
use filter_common::packet::Source;
use filter_common::reason::{Outcome, Reason, Verdict};
use filter_common::set::LabelView;
use filter_common::sets::{PerSet, SetName};
use filter_common::settings::{self, SetSettings, Settings};
use filter_common::{WordsMut, levels, networks};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::kernel::broker::Broker;
use crate::kernel::broker::client::{BrokerAnswer, BrokerHost, QUICK};
use crate::kernel::broker::counts::PacketCounts;
use crate::kernel::broker::kept::KeptMaps;
use crate::kernel::broker::request::{Blueprint, EarlierPins, MapName, MapPart, MapUse, Reply, Request};
use crate::kernel::broker::size;
use crate::kernel::hook::Hook;
use crate::kernel::interface::Framing;
use crate::kernel::seen::{PublishedTables, SetWindows};
use crate::kernel::window::Window;
use crate::kernel::{AttachMode, Attachment, KernelError};

/// How many requests are answered with "not yet" while a judge is loaded in the background.
const LOADING: u32 = 3;

/// The kernel in memory. Clones share one state.
#[derive(Clone, Default)]
pub struct KernelInMemory(Arc<Mutex<MemoryState>>);

#[derive(Default)]
struct MemoryState {
    pinned: BTreeMap<MapUse, (OwnedFd, u32)>,
    /// Slow maps: the first question whether one is made is answered with no.
    making: BTreeSet<MapUse>,
    kept: KeptMaps,
    /// The judge loaded in the background, and how many more requests are answered with "not yet".
    foreseen: Option<(Blueprint, u32)>,
    ready: Option<Blueprint>,
    published: Option<Published>,
    requests: u64,
    refuses: Range<u64>,
    refuses_judges: bool,
    is_slow: bool,
    /// How many times a caller waited for a large map.
    waits: u64,
    /// How many times a caller waited for a judge.
    waits_for_judges: u64,
    watched: Vec<Source>,
    /// The verdicts of the watched sources just before and just after the last publication.
    met: Option<[Vec<Verdict>; 2]>,
}

struct Published {
    settings: Box<Settings>,
    maps: Vec<(MapUse, Window)>,
}

impl KernelInMemory {
    /// A broker that uses this kernel.
    pub fn broker(&self) -> Broker {
        Broker::at(EarlierPins::default(), self.clone())
    }

    /// Refuses the requests of these numbers, counted from the beginning.
    pub fn refuse(&self, requests: Range<u64>) {
        self.state().refuses = requests;
    }

    /// Makes maps, but refuses to load judges.
    pub fn refuse_judges(&self, refuses: bool) {
        self.state().refuses_judges = refuses;
    }

    /// Makes all maps slow, even small ones, if the caller can wait for them.
    pub fn be_slow(&self) {
        self.state().is_slow = true;
    }

    /// How many times a caller waited for a large map.
    pub fn waits(&self) -> u64 {
        self.state().waits
    }

    /// How many times a caller waited for a judge.
    pub fn waits_for_judges(&self) -> u64 {
        self.state().waits_for_judges
    }

    /// Records from now on the verdicts of these sources just before and just after each publication.
    pub fn watch(&self, sources: Vec<Source>) {
        let mut state = self.state();
        (state.watched, state.met) = (sources, None);
    }

    /// The recorded verdicts of the last publication, if there was one since `watch`.
    pub fn met(&self) -> Option<[Vec<Verdict>; 2]> {
        self.state().met.clone()
    }

    /// Overwrites all maps of this part that packets read.
    pub fn overwrite(&self, part: MapPart, word: u64) {
        let state = self.state();
        for (map, window) in state.published.iter().flat_map(|published| &published.maps) {
            if map.map.part == part {
                (0..window.bytes() / 8).for_each(|at| window.store(at as u32, word));
            }
        }
    }

    /// The number of requests so far.
    pub fn requests(&self) -> u64 {
        self.state().requests
    }

    /// The pinned maps, and the maps that the published judge uses.
    pub fn pins(&self) -> (Vec<MapUse>, Vec<MapUse>) {
        let state = self.state();
        let used = state.published.iter().flat_map(|published| &published.maps).map(|(map, _)| *map);
        (state.pinned.keys().copied().collect(), used.collect())
    }

    pub fn settings(&self) -> Option<Settings> {
        self.state().published.as_ref().map(|published| *published.settings)
    }

    /// The verdict for a packet from `source`.
    pub fn judge(&self, source: Source) -> Verdict {
        self.judge_all([source])[0]
    }

    /// The verdicts for packets from these sources.
    pub fn judge_all(&self, sources: impl IntoIterator<Item = Source>) -> Vec<Verdict> {
        self.judge_at(Hook::Xdp, sources)
    }

    /// The verdicts at this hook: for packets from these, or for sent packets to these.
    pub fn judge_at(&self, hook: Hook, addresses: impl IntoIterator<Item = Source>) -> Vec<Verdict> {
        self.state().judge_at(hook, addresses)
    }

    /// The labels of the lists that packets from these sources count for, if they are blocked.
    pub fn labels(&self, sources: impl IntoIterator<Item = Source>) -> Vec<Option<Label>> {
        let state = self.state();
        let seen = state.seen_at(Hook::Xdp);
        sources.into_iter().map(|source| seen.as_ref()?.label(source)).collect()
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.0.lock().expect("nobody panics while he holds it")
    }
}

impl BrokerHost for KernelInMemory {
    fn serve(&mut self, request: Request) -> BrokerAnswer {
        self.state().serve(request)
    }

    fn is_quick(&self, words: u32) -> bool {
        let state = self.state();
        !state.is_slow && words <= QUICK
    }

    fn end(&mut self) {}
}

impl MemoryState {
    fn judge_at(&self, hook: Hook, addresses: impl IntoIterator<Item = Source>) -> Vec<Verdict> {
        let Some(seen) = self.seen_at(hook) else {
            return addresses.into_iter().map(|_| Reason::Unlisted.verdict()).collect();
        };
        addresses.into_iter().map(|address| judge_source(address, &seen)).collect()
    }

    /// The watched sources before the judge of packets that come in.
    fn judge_watched(&self) -> Vec<Verdict> {
        self.judge_at(Hook::Xdp, self.watched.iter().copied())
    }

    fn seen_at(&self, hook: Hook) -> Option<PublishedTables<'_>> {
        let published = self.published.as_ref()?;
        let words = |set, part| {
            let mut maps = published.maps.iter();
            maps.find(|(map, _)| map.map.seen_at(hook) == Some(MapName { set, part }))
                .map(|(_, window)| window)
        };
        let windows = |set| SetWindows {
            addresses: words(set, MapPart::Addresses),
            networks: words(set, MapPart::Networks),
            levels: words(set, MapPart::Levels),
            six: words(set, MapPart::Six),
        };
        let labels = |set| LabelView {
            addresses: words(set, MapPart::AddressLabels),
            networks: words(set, MapPart::NetworkLabels),
            levels: words(set, MapPart::LevelLabels),
            six: words(set, MapPart::SixLabels),
        };
        Some(PublishedTables {
            settings: if hook.is_sent() { published.settings.of_sent() } else { *published.settings },
            sets: PerSet::from_fn(windows),
            overlap: words(SetName::Allow, MapPart::Overlap),
            labels: PerSet::from_fn(labels),
        })
    }

    fn serve(&mut self, request: Request) -> BrokerAnswer {
        let number = self.requests;
        self.requests += 1;
        let is_judge = matches!(request, Request::Foresee(_) | Request::Prepare(_));
        if self.refuses.contains(&number) || is_judge && self.refuses_judges {
            return Err(refusal(&request));
        }
        match request {
            Request::Make { map, generation, words } => {
                self.waits += u64::from(words > QUICK);
                return self.make(MapUse { map, generation }, words);
            }
            Request::Begin { map, generation, words } => {
                let map = MapUse { map, generation };
                self.make(map, words)?;
                self.making.insert(map);
            }
            Request::Collect { map, generation, waits } => {
                return self.collect(MapUse { map, generation }, waits);
            }
            Request::Discard { map, generation } => {
                let map = MapUse { map, generation };
                self.making.remove(&map);
                if self.kept.discarded(map) {
                    self.pinned.remove(&map);
                }
            }
            Request::Foresee(blueprint) => {
                self.check(&blueprint)?;
                return Ok((self.foresee(blueprint), None));
            }
            Request::Prepare(blueprint) => {
                self.check(&blueprint)?;
                let foreseen = self.foreseen.take_if(|(foreseen, _)| *foreseen == blueprint);
                self.waits_for_judges += u64::from(foreseen.is_none_or(|(_, asks)| asks > 0));
                self.ready = Some(blueprint);
            }
            Request::Publish => {
                let before = self.judge_watched();
                self.publish()?;
                self.met = Some([before, self.judge_watched()]);
            }
            Request::Attach { index, .. } => {
                let attached = Attachment {
                    index,
                    mode: Some(AttachMode::Native),
                    reason: None,
                    program: 1,
                    framing: Framing::Ethernet,
                };
                return Ok((Reply::Attached(attached), None));
            }
            Request::Renew => return Ok((Reply::Renewed(1), None)),
            Request::Look => return Ok((Reply::Links(Vec::new()), None)),
            Request::Count => {
                let packets = vec![0; Outcome::all().count()];
                return Ok((Reply::Counted(PacketCounts { packets, ..PacketCounts::default() }), None));
            }
            Request::Adopt
            | Request::Expect(_)
            | Request::MendPins
            | Request::Ports
            | Request::Samples
            | Request::Seed(_)
            | Request::Detach { .. }
            | Request::Rename { .. }
            | Request::Rollback
            | Request::Remove => {}
        }
        Ok((Reply::Done, None))
    }

    /// One judge at a time. Each request counts as passing time.
    fn foresee(&mut self, blueprint: Blueprint) -> Reply {
        match &mut self.foreseen {
            Some((_, asks @ 1..)) => {
                *asks -= 1;
                return Reply::NotYet;
            }
            Some((foreseen, _)) if *foreseen == blueprint => return Reply::Done,
            Some(_) | None => {}
        }
        self.foreseen = Some((blueprint, LOADING - 1));
        Reply::NotYet
    }

    fn make(&mut self, map: MapUse, words: u32) -> BrokerAnswer {
        self.kept.may_make(map, words)?;
        let made = memfd_create(map.map.name(), MFdFlags::MFD_CLOEXEC)
            .map_err(|error| failed("make a map", &error.to_string()))?;
        let file = File::from(made);
        file.set_len(u64::from(words) * 8).map_err(|error| failed("make a map", &error.to_string()))?;
        let made = OwnedFd::from(file);
        let copy = made.try_clone().map_err(|error| failed("make a map", &error.to_string()))?;
        self.pinned.insert(map, (made, words));
        self.kept.made(map, words);
        Ok((Reply::Done, Some(copy)))
    }

    fn collect(&mut self, map: MapUse, waits: bool) -> BrokerAnswer {
        self.waits += u64::from(waits);
        if self.making.remove(&map) && !waits {
            return Ok((Reply::NotYet, None));
        }
        let (made, _) =
            self.pinned.get(&map).ok_or_else(|| failed("hand a map over", "nobody has begun it"))?;
        let copy = made.try_clone().map_err(|error| failed("hand a map over", &error.to_string()))?;
        Ok((Reply::Done, Some(copy)))
    }

    /// Checks as the loader does: each map must be pinned, and have the size that the settings require.
    fn check(&self, blueprint: &Blueprint) -> Result<(), KernelError> {
        self.kept.may_use(&blueprint.maps)?;
        for map in &blueprint.maps {
            let Some((_, words)) = self.pinned.get(map) else {
                return Err(failed("load the judge", &format!("{map:?} is not pinned")));
            };
            if *words != words_of(map.map, &blueprint.settings) {
                return Err(failed("load the judge", &format!("{map:?} has the wrong size")));
            }
        }
        Ok(())
    }

    fn publish(&mut self) -> Result<(), KernelError> {
        let Some(blueprint) = self.ready.take() else { return Ok(()) };
        let open = |map: &MapUse| -> Result<(MapUse, Window), KernelError> {
            let (made, words) =
                self.pinned.get(map).ok_or_else(|| failed("publish", "a map has been discarded"))?;
            let window =
                Window::open(made, *words).map_err(|error| failed("open a map", &error.to_string()))?;
            Ok((*map, window))
        };
        let maps = blueprint.maps.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let settings = Box::new(settings_of(&blueprint.settings));
        self.published = Some(Published { settings, maps });
        self.kept.published(&blueprint.maps);
        let kept = self.kept.maps();
        self.pinned.retain(|map, _| kept.contains(map));
        Ok(())
    }
}

fn words_of(map: MapName, words: &[u64]) -> u32 {
    let settings = settings_of(words);
    let set = settings.sets[map.set];
    let addresses = || Geometry::exact4(set.addresses4.buckets as u32);
    let six = || Geometry::six(set.six.buckets as u32);
    match map.part {
        MapPart::Addresses => size::table(addresses()),
        MapPart::Networks => networks::WORDS,
        MapPart::Levels => levels_size(&set),
        MapPart::Six => size::table(six()),
        MapPart::Overlap => 1,
        MapPart::Lists => (settings.last_processor as u32 + 1) * labels::COUNTERS,
        MapPart::AddressLabels => size::labels_beside(addresses()),
        MapPart::SixLabels => size::labels_beside(six()),
        MapPart::NetworkLabels => size::network_labels(set.network_pages.ilog2()),
        MapPart::LevelLabels => size::level_labels(levels_size(&set), set.six.level_pages.ilog2()),
    }
}

fn levels_size(set: &SetSettings) -> u32 {
    levels::size::of_last_start(set.six.last_level_start) as u32
}

fn settings_of(words: &[u64]) -> Settings {
    let words: &[u64; settings::WORDS] = words.try_into().expect("a blueprint has all settings");
    Settings::from_words(words)
}

fn refusal(request: &Request) -> KernelError {
    let (Request::Make { map, words, .. } | Request::Begin { map, words, .. }) = request else {
        return failed("do what was asked", "it was told to refuse");
    };
    KernelError::NoMemory {
        name: map.name().to_owned(),
        bytes: u64::from(*words) * 8,
        reason: "it was told to refuse".to_owned(),
    }
}

fn failed(what: &str, reason: &str) -> KernelError {
    KernelError::Load { what: what.to_owned(), reason: reason.to_owned() }
}
