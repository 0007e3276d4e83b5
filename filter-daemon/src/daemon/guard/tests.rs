//! Random lists and host states, applied one after the other to one filter in memory.
//!
//! Packets from and to a guarded address are never dropped, not even between two pages of a reload. `diff` must name
//! exactly the live peers that the reload then cuts, at once or when the entry that allows them ends.
//!
//! `FILTERD_STORIES` sets the number of reloads, and `FILTERD_SEED` the first story.

mod ends;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use filter_common::direction::MANUAL_OUT;
use filter_common::reason::Verdict;
use tempfile::TempDir;

use super::super::capacity::Capacity;
use super::super::commit::Protection;
use super::super::core::Core;
use super::super::diff::{Comparison, CurrentState, PeerRole, Peers, gather_with};
use super::super::interfaces::InterfacePreview;
use super::super::jobs::run_alone;
use super::super::lists::ListCopies;
use super::super::persistence::{self, Persistence};
use super::super::reload::{AppliedReload, RunningReload, begin_with};
use super::super::serve::GuardReport;
use super::*;
use crate::blocklist::{Reach, Targets};
use crate::config::{Config, Mode};
use crate::kernel::Filter;
use crate::kernel::hook::Hook;
use crate::kernel::tests::memory::KernelInMemory;
use crate::kernel::tests::whole::few_or;
use ends::AddressEnds;
use world::{Random, TestConfiguration, address, facts, loaded, plan, source, targets};

/// Reloads of one story, which begins with a start.
const RELOADS: u64 = 50;

/// Reloads in `cargo xtask test --all`; other runs make `FEW`.
const ALL: u64 = 10_000;
const FEW: u64 = 2_000;

#[test]
fn guarded_are_never_dropped_and_diff_names_cuts() {
    let number =
        |name, otherwise| std::env::var(name).map_or(otherwise, |word| word.parse().expect("it is a number"));
    let (first, reloads) = (number("FILTERD_SEED", 0), number("FILTERD_STORIES", few_or(FEW, ALL)));
    let (seeds, next) = (first..first + reloads.div_ceil(RELOADS), AtomicU64::new(first));
    let told = thread::scope(|scope| {
        let tell = || scope.spawn(|| tell_stories(&seeds, &next, RELOADS.min(reloads)));
        let tellers = [(); TELLERS].map(|()| tell());
        tellers.map(|teller| teller.join().unwrap_or_else(|failed| resume_unwind(failed)))
    });
    let told = told.into_iter().reduce(ScenarioCounts::and).unwrap();
    println!("{told:?}");
    let little = told.cut < told.reloads / 4 || told.kept < told.reloads / 4 || told.wide < told.reloads / 80;
    let little = little || told.cut_later < told.reloads / 4 || told.expired < told.reloads / 4;
    assert!(!little, "little of what can happen did: {told:?}");
}

/// Runs stories until none is left.
fn tell_stories(seeds: &Range<u64>, next: &AtomicU64, reloads: u64) -> ScenarioCounts {
    let (place, mut told) = (TempDir::new().unwrap(), ScenarioCounts::default());
    let (mut persistence, _) = persistence::restore(place.path(), Default::default()).unwrap();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if !seeds.contains(&seed) {
            return told;
        }
        let mut story = GuardScenario::begin(seed, Blocklist::default(), persistence);
        (0..reloads).for_each(|_| story.step(&mut told));
        persistence = story.core.persistence;
    }
}

/// The number of processors of a small machine.
const TELLERS: usize = 2;

/// Counts of events.
#[derive(Debug, Default)]
struct ScenarioCounts {
    reloads: u64,
    judged: u64,
    /// Peers that were cut.
    cut: u64,
    /// Peers that will be cut when the entry that allows them ends.
    cut_later: u64,
    /// Entries that expired.
    expired: u64,
    /// Guarded addresses that a blocked target covers.
    kept: u64,
    /// Reloads with everything of a family blocked.
    wide: u64,
    refused: u64,
}

impl ScenarioCounts {
    fn and(self, other: Self) -> Self {
        Self {
            reloads: self.reloads + other.reloads,
            judged: self.judged + other.judged,
            cut: self.cut + other.cut,
            cut_later: self.cut_later + other.cut_later,
            expired: self.expired + other.expired,
            kept: self.kept + other.kept,
            wide: self.wide + other.wide,
            refused: self.refused + other.refused,
        }
    }
}

struct GuardScenario {
    seed: u64,
    random: Random,
    guard: Guard,
    config: Config,
    plan: TestConfiguration,
    core: Core,
    kernel: KernelInMemory,
}

impl AsMut<Core> for GuardScenario {
    fn as_mut(&mut self) -> &mut Core {
        &mut self.core
    }
}

impl GuardScenario {
    /// Starts: guarded addresses are added first, and apply to the first packet.
    fn begin(seed: u64, mut blocklist: Blocklist, persistence: Persistence) -> Self {
        let mut random = Random(seed.wrapping_mul(7919) + 13);
        let mut guard = Guard::of_nothing();
        (guard.links, guard.files) = facts(&mut random);
        guard.enter(&mut blocklist).unwrap();
        let plan = plan(&mut random, &TestConfiguration::default());
        let mut lists = ListCopies::of("/nowhere".as_ref());
        let begun = loaded(&plan, &blocklist, &lists.sources);
        let (config, ..) = begin_with(begun, &mut blocklist, &mut lists.sources).unwrap();
        let kernel = KernelInMemory::default();
        let protection = Protection::begin(blocklist, Filter::through(kernel.broker())).unwrap();
        let core = Core::new(protection, Capacity::default(), persistence, lists);
        let this = Self { seed, random, guard, config, plan, core, kernel };
        this.must_pass(&"after the start");
        this
    }

    /// Changes the host, then the configuration, then adds and removes by command.
    fn step(&mut self, told: &mut ScenarioCounts) {
        if self.random.below(2) == 0 {
            self.change_host();
        }
        let plan = plan(&mut self.random, &self.plan);
        let peers: BTreeSet<IpAddr> = (0..12).map(|_| address(&mut self.random)).collect();
        let [named, named_later] = self.diff(&plan, &peers);
        let (before, without, now) = (self.dropped(&peers), self.ends(&peers), clock::now());
        self.reload(&plan, told);
        let (after, with) = (self.dropped(&peers), self.ends(&peers));
        let cut: BTreeSet<_> = after.difference(&before).copied().collect();
        assert_eq!(named, cut, "seed {}: named by diff, and cut: {plan:?}", self.seed);
        told.cut += cut.len() as u64;
        let later = peers.iter().filter(|peer| with[*peer].are_cut_later_than(now, &without[*peer]));
        let later: BTreeSet<_> = later.copied().collect();
        assert_eq!(named_later, later, "seed {}: named by diff for later, {without:?}, {with:?}", self.seed);
        told.cut_later += later.len() as u64;
        if plan.is_bare() {
            // No other event recomputes the overlap here.
            self.commit(&Change::LookForOverlap);
            self.change_host();
        }
        self.edit(told);
        self.plan = plan;
    }

    fn change_host(&mut self) {
        (self.guard.links, self.guard.files) = facts(&mut self.random);
        self.guard.settle(&mut self.core.protection);
        assert!(self.guard.undone.is_none());
        self.must_pass(&"after the host changed");
    }

    fn ends(&self, peers: &BTreeSet<IpAddr>) -> BTreeMap<IpAddr, AddressEnds> {
        peers.iter().map(|peer| (*peer, AddressEnds::of(*peer, self.core.protection.blocklist()))).collect()
    }

    /// The peers that `diff` names as cut at once, and those cut later.
    fn diff(&mut self, plan: &TestConfiguration, peers: &BTreeSet<IpAddr>) -> [BTreeSet<IpAddr>; 2] {
        let roles = |address: &IpAddr| (*address, BTreeMap::from([(PeerRole::Gateway, 1)]));
        let peers = Peers { known: peers.iter().map(roles).collect(), ..Peers::default() };
        let blocklist = self.core.protection.blocklist();
        let read = gather_with(loaded(plan, blocklist, &self.core.lists.sources), peers, self.guard.copied());
        let now = CurrentState {
            config: &self.config,
            interfaces: InterfacePreview::default(),
            mode: Mode::Auto,
            waits: None,
            on_trial_until: None,
        };
        let diff = Comparison::begin(read, now, blocklist);
        let reply = run_alone(self, async |turn| diff.run(turn).await, |_| {});
        [reply.cut, reply.cut_later].map(|cuts| cuts.iter().map(|cut| cut.address.parse().unwrap()).collect())
    }

    fn reload(&mut self, plan: &TestConfiguration, told: &mut ScenarioCounts) {
        let blocklist = self.core.protection.blocklist_mut();
        let loaded = loaded(plan, blocklist, &self.core.lists.sources);
        let mut reload = RunningReload::begin(loaded, blocklist, &mut self.core.lists.sources).unwrap();
        let done = run_alone(
            &mut *self,
            async |turn| reload.run(turn).await,
            |this| {
                this.must_pass(plan);
                let (filter, blocklist) = this.core.protection.parts();
                if filter.is_growing() {
                    filter.grow(blocklist).unwrap();
                }
                this.core.capacity.everybody_has_seen(&this.core.protection);
            },
        );
        done.unwrap();
        let finished = reload.finish(self.core.protection.blocklist_mut(), &mut self.core.lists.sources);
        let AppliedReload { config, reloaded, .. } = finished;
        self.config = config;
        told.reloads += 1;
        told.wide += u64::from(reloaded.warnings.iter().any(|warning| warning.contains("is wider than")));
        let counts = self.guard.counts(self.core.protection.blocklist());
        told.kept += counts.values().sum::<u64>();
        self.settle();
    }

    /// Does the same as `filterd add` and `remove`.
    fn edit(&mut self, told: &mut ScenarioCounts) {
        let mut targets = targets(&mut self.random, 6);
        match GuardReport::of(&mut targets, Reach::AS_GIVEN, true, self.guard.view_of_needed()) {
            Ok(guarding) => {
                told.refused += guarding.refused.len() as u64;
                let until = self.some_end(&[150, 300]);
                let list = ["manual", MANUAL_OUT][self.random.below(2)];
                self.commit(&Change::Want(Want { until, ..Want::live(list, Polarity::Block, targets) }));
            }
            Err(_) => told.refused += 1,
        }
        if self.random.below(3) > 0 {
            let list = ["manual", MANUAL_OUT][self.random.below(2)];
            let (from, targets) = (ReleaseFrom::EveryLiveList(Polarity::Block), targets_of(self, list));
            self.commit(&Change::Release { from, targets });
        }
        if self.random.below(2) == 0 {
            let (targets, until) = (world::targets(&mut self.random, 2), self.some_end(&[90, 210, 420]));
            self.commit(&Change::Want(Want { until, ..Want::live("visitors", Polarity::Allow, targets) }));
        } else {
            let (from, targets) = (ReleaseFrom::EveryLiveList(Polarity::Allow), targets_of(self, "visitors"));
            self.commit(&Change::Release { from, targets });
        }
        if self.random.below(4) == 0 {
            told.expired += self.pass_time();
        }
        told.judged += 1;
        self.settle();
    }

    /// An end this many minutes from now, or none. No entry that blocks ends at the time when an entry that
    /// allows ends.
    fn some_end(&mut self, minutes: &[u64]) -> Option<Timestamp> {
        let minutes = minutes.get(self.random.below(minutes.len() + 1))?;
        Some(clock::after(Duration::from_secs(minutes * 60)))
    }

    /// Removes the entries with the shortest time, as if it had passed.
    fn pass_time(&mut self) -> u64 {
        let then = clock::after(Duration::from_secs(135 * 60));
        let sides = [Polarity::Block, Polarity::Allow];
        let expired = sides.map(|polarity| {
            let change = Change::Expire { polarity, most: usize::MAX };
            self.core.protection.commit(&change, then).unwrap().changed
        });
        self.must_pass(&"after some time");
        expired.into_iter().sum()
    }

    fn commit(&mut self, change: &Change) {
        self.core.protection.commit(change, clock::now()).unwrap();
        self.must_pass(change);
    }

    /// Does the same as the loop after each event.
    fn settle(&mut self) {
        let (filter, blocklist) = self.core.protection.parts();
        while filter.settle(blocklist).unwrap() {}
        self.core.protection.take_records();
        if self.random.below(4) == 0 {
            self.commit(&Change::LookForOverlap);
        }
    }

    /// Asserts that no guarded address is dropped.
    fn must_pass(&self, then: &impl std::fmt::Debug) {
        let guarded: BTreeSet<_> = self.guard.in_force.keys().copied().collect();
        let facts = self.guard.links.iter().chain(&self.guard.files);
        assert!(facts.map(|fact| fact.address).all(|address| guarded.contains(&address)));
        let dropped = self.dropped(&guarded);
        assert!(dropped.is_empty(), "seed {}: {dropped:?} are guarded, and dropped: {then:?}", self.seed);
    }

    /// Those from which, or to which, packets are dropped.
    fn dropped(&self, addresses: &BTreeSet<IpAddr>) -> BTreeSet<IpAddr> {
        let dropped_at = |hook| {
            let met = self.kernel.judge_at(hook, addresses.iter().map(|address| source(*address)));
            let all = addresses.iter().zip(met);
            all.filter(|(_, met)| matches!(met, Verdict::Drop(_))).map(|(address, _)| *address)
        };
        [Hook::Xdp, Hook::Sent].into_iter().flat_map(dropped_at).collect()
    }
}

fn targets_of(story: &GuardScenario, list: &str) -> Targets {
    let blocklist = story.core.protection.blocklist();
    blocklist.lists().find(list).map(|id| blocklist.entries_of(id).collect()).unwrap_or_default()
}
