//! Random lists and host states, one after the other over one filter in memory: whatever is on the lists, none of the guarded is
//! dropped, not between two pages of a reload either; and `diff` had named every live peer that the reload then cuts.
//!
//! `FILTERD_STORIES` says how many reloads there are, `FILTERD_SEED` which story is the first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use filter_common::packet::Source;
use filter_common::reason::Verdict;
use filter_common::target::{Prefix, Target};
use tempfile::TempDir;

use super::super::capacity::Capacity;
use super::super::commit::Protection;
use super::super::diff::{Diff, Now, PeerRole, Peers, gather_with};
use super::super::interfaces::Foreseen;
use super::super::pages::{Parts, Turn, Work};
use super::super::persistence::{self, Persistence};
use super::super::reload::{Found, Loaded, LoadedList, Reload, begin_with};
use super::super::serve::Guarding;
use super::*;
use crate::blocklist::{Accepted, Meaning, Reach, Targets};
use crate::config::Config;
use crate::host::What;
use crate::kernel::Filter;
use crate::kernel::memory::Memory;
use crate::source::{How, Remarks, Special};

/// Reloads of one story, at its beginning a start.
const RELOADS: u64 = 50;

/// As many as the issue asks for.
const ALL: u64 = 10_000;

#[test]
fn none_of_the_guarded_is_ever_dropped_and_diff_had_named_whoever_is_cut() {
    let number =
        |name, otherwise| std::env::var(name).map_or(otherwise, |word| word.parse().expect("it is a number"));
    let (first, reloads) = (number("FILTERD_SEED", 0), number("FILTERD_STORIES", ALL));
    let (seeds, next) = (first..first + reloads.div_ceil(RELOADS), AtomicU64::new(first));
    let told = thread::scope(|scope| {
        let tell = || scope.spawn(|| tell_stories(&seeds, &next, RELOADS.min(reloads)));
        let tellers = [(); TELLERS].map(|()| tell());
        tellers.map(|teller| teller.join().unwrap_or_else(|failed| resume_unwind(failed)))
    });
    let told = told.into_iter().reduce(Told::and).unwrap();
    println!("{told:?}");
    let little = told.cut < told.reloads / 4 || told.kept < told.reloads / 4 || told.wide < told.reloads / 80;
    assert!(!little, "little of what can happen did: {told:?}");
}

/// Tells the next story until all are told.
fn tell_stories(seeds: &Range<u64>, next: &AtomicU64, reloads: u64) -> Told {
    let (place, mut told) = (TempDir::new().unwrap(), Told::default());
    let (mut persistence, _) =
        persistence::restore(place.path(), &Config::default(), Default::default()).unwrap();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if !seeds.contains(&seed) {
            return told;
        }
        let mut story = Story::begin(seed, Blocklist::default(), &mut persistence);
        (0..reloads).for_each(|_| story.step(&mut told));
    }
}

/// As many as a small machine has processors.
const TELLERS: usize = 2;

/// Half of all, or all. What is so wide takes time to enter, and is enough in a few.
const WIDE: [&[&str]; 3] = [&["0.0.0.0/0"], &["::/0"], &["128.0.0.0/1", "2000::/3"]];

/// What happened.
#[derive(Debug, Default)]
struct Told {
    reloads: u64,
    judged: u64,
    /// Peers that were cut.
    cut: u64,
    /// Guarded addresses that something blocked names.
    kept: u64,
    /// Reloads with everything of a family blocked.
    wide: u64,
    refused: u64,
}

impl Told {
    fn and(self, other: Self) -> Self {
        Self {
            reloads: self.reloads + other.reloads,
            judged: self.judged + other.judged,
            cut: self.cut + other.cut,
            kept: self.kept + other.kept,
            wide: self.wide + other.wide,
            refused: self.refused + other.refused,
        }
    }
}

struct Story<'a> {
    seed: u64,
    random: Random,
    guard: Guard,
    config: Config,
    protection: Protection,
    capacity: Capacity,
    persistence: &'a mut Persistence,
    kernel: Memory,
}

/// What a configuration says.
#[derive(Debug)]
struct Plan {
    block: Targets,
    allow: Targets,
    lists: Vec<(&'static str, Targets)>,
}

impl Plan {
    /// Nothing is on its lists but what is very wide.
    fn is_bare(&self) -> bool {
        self.lists.is_empty() && !self.block.is_empty() && self.block.iter().all(|target| target.is_wide())
    }
}

impl<'a> Story<'a> {
    /// Starts: what is guarded enters before anything else, and is met by the first packet.
    fn begin(seed: u64, mut blocklist: Blocklist, persistence: &'a mut Persistence) -> Self {
        let mut random = Random(seed.wrapping_mul(7919) + 13);
        let mut guard = Guard::of_nothing();
        (guard.links, guard.files) = facts(&mut random);
        guard.enter(&mut blocklist).unwrap();
        let plan = plan(&mut random);
        let (config, ..) = begin_with(loaded(&plan, &blocklist), &mut blocklist).unwrap();
        let kernel = Memory::default();
        let protection = Protection::begin(blocklist, Filter::through(kernel.broker())).unwrap();
        let capacity = Capacity::default();
        let this = Self { seed, random, guard, config, protection, capacity, persistence, kernel };
        this.must_pass(&"after the start");
        this
    }

    /// The host changes, then the configuration, then somebody adds and removes.
    fn step(&mut self, told: &mut Told) {
        if self.random.below(2) == 0 {
            self.change_host();
        }
        let plan = plan(&mut self.random);
        let peers: BTreeSet<IpAddr> = (0..12).map(|_| address(&mut self.random)).collect();
        let named = self.diff(&plan, &peers);
        let before = self.dropped(&peers);
        self.reload(&plan, told);
        let after = self.dropped(&peers);
        let cut: BTreeSet<_> = after.difference(&before).copied().collect();
        assert_eq!(named, cut, "seed {}: named by diff, and cut: {plan:?}", self.seed);
        told.cut += cut.len() as u64;
        if plan.is_bare() {
            // Nothing else says that anything overlaps by now.
            self.commit(&Change::LookForOverlap);
            self.change_host();
        }
        self.edit(told);
    }

    fn change_host(&mut self) {
        (self.guard.links, self.guard.files) = facts(&mut self.random);
        self.guard.settle(&mut self.protection);
        assert!(self.guard.undone.is_none());
        self.must_pass(&"after the host changed");
    }

    /// Whom `diff` names.
    fn diff(&mut self, plan: &Plan, peers: &BTreeSet<IpAddr>) -> BTreeSet<IpAddr> {
        let roles = |address: &IpAddr| (*address, BTreeMap::from([(PeerRole::Gateway, 1)]));
        let peers = Peers { known: peers.iter().map(roles).collect(), ..Peers::default() };
        let blocklist = self.protection.blocklist();
        let read = gather_with(loaded(plan, blocklist), peers, self.guard.view().copied());
        let now = Now { config: &self.config, interfaces: Foreseen::default(), on_trial_until: None };
        let mut diff = Diff::begin(read, now, blocklist);
        while self.turn(&mut diff) != Turn::Done {}
        let reply = diff.into_reply();
        reply.cut.iter().map(|cut| cut.address.parse().unwrap()).collect()
    }

    fn reload(&mut self, plan: &Plan, told: &mut Told) {
        let blocklist = self.protection.blocklist_mut();
        let loaded = loaded(plan, blocklist);
        let mut reload = Reload::begin(loaded, clock::instant(), blocklist).unwrap();
        loop {
            let turn = self.turn(&mut reload);
            self.must_pass(plan);
            match turn {
                Turn::Done => break,
                Turn::More => {}
                Turn::Wait => {
                    let (filter, blocklist) = self.protection.parts();
                    if filter.is_growing() {
                        filter.grow(blocklist).unwrap();
                    }
                    self.capacity.everybody_has_seen(&self.protection);
                }
            }
        }
        let (config, reloaded, _) = reload.finish(self.protection.blocklist_mut()).unwrap();
        self.config = config;
        told.reloads += 1;
        told.wide += u64::from(reloaded.warnings.iter().any(|warning| warning.contains("is wider than")));
        let counts = self.guard.counts(self.protection.blocklist());
        told.kept += counts.values().sum::<u64>();
        self.settle();
    }

    /// As `filterd add` and `remove` do it.
    fn edit(&mut self, told: &mut Told) {
        let mut targets = targets(&mut self.random, 6);
        match Guarding::of(&mut targets, Reach::AS_GIVEN, true, self.guard.view()) {
            Ok(guarding) => {
                told.refused += guarding.refused.len() as u64;
                self.commit(&Change::Want(Want::live("manual", Polarity::Block, targets)));
            }
            Err(_) => told.refused += 1,
        }
        if self.random.below(3) > 0 {
            let (from, targets) = (From::EveryLiveList(Polarity::Block), targets_of(self, "manual"));
            self.commit(&Change::Release { from, targets });
        }
        told.judged += 1;
        self.settle();
    }

    fn commit(&mut self, change: &Change) {
        self.protection.commit(change, clock::now()).unwrap();
        self.must_pass(change);
    }

    fn turn(&mut self, work: &mut impl Work) -> Turn {
        let (protection, capacity) = (&mut self.protection, &mut self.capacity);
        work.turn(&mut Parts { protection, capacity, persistence: self.persistence })
    }

    /// As the loop does after each event.
    fn settle(&mut self) {
        let (filter, blocklist) = self.protection.parts();
        while filter.settle(blocklist).unwrap() {}
        self.protection.take_records();
        if self.random.below(4) == 0 {
            self.commit(&Change::LookForOverlap);
        }
    }

    /// Not one of the guarded is dropped.
    fn must_pass(&self, then: &impl std::fmt::Debug) {
        let guarded: BTreeSet<_> = self.guard.in_force.keys().copied().collect();
        let facts = self.guard.links.iter().chain(&self.guard.files);
        assert!(facts.map(|fact| fact.address).all(|address| guarded.contains(&address)));
        let dropped = self.dropped(&guarded);
        assert!(dropped.is_empty(), "seed {}: {dropped:?} are guarded, and dropped: {then:?}", self.seed);
    }

    fn dropped(&self, addresses: &BTreeSet<IpAddr>) -> BTreeSet<IpAddr> {
        let met = self.kernel.judge_all(addresses.iter().map(|address| source(*address)));
        let all = addresses.iter().zip(met);
        all.filter(|(_, met)| matches!(met, Verdict::Drop(_))).map(|(address, _)| *address).collect()
    }
}

fn targets_of(story: &Story<'_>, list: &str) -> Targets {
    let blocklist = story.protection.blocklist();
    blocklist.lists().find(list).map(|id| blocklist.entries_of(id).collect()).unwrap_or_default()
}

/// What a host may be: addresses of its own, gateways, sessions and name servers, in the middle of what is listed.
fn facts(random: &mut Random) -> (Vec<Fact>, Vec<Fact>) {
    let mut some = |most: usize, what: &What| -> Vec<Fact> {
        let count = random.below(most + 1);
        (0..count).map(|_| Fact { address: address(random), what: what.clone() }).collect()
    };
    let links = [some(3, &What::Own("eth0".into())), some(2, &What::Gateway)].concat();
    (links, [some(2, &What::Session("root".into())), some(2, &What::NameServer)].concat())
}

fn plan(random: &mut Random) -> Plan {
    let few = |random: &mut Random, most| {
        let count = random.below(most);
        targets(random, count)
    };
    let lists = [("one", few(random, 30)), ("two", few(random, 8)), ("partners", few(random, 3))];
    let lists = lists.into_iter().filter(|_| random.below(3) > 0).collect();
    let (mut block, allow) = (few(random, 10), few(random, 3));
    if random.below(40) == 0 {
        let wide = WIDE[random.below(3)].iter().map(|wide| wide.parse::<Target>().unwrap());
        if random.below(2) == 0 {
            return Plan { block: wide.collect(), allow: Targets::default(), lists: Vec::new() };
        }
        wide.for_each(|wide| block.push(wide));
        block.sort();
    }
    Plan { block, allow, lists }
}

/// As the thread that reads finds it.
fn loaded(plan: &Plan, blocklist: &Blocklist) -> Loaded {
    let lists = plan.lists.iter().map(|(name, targets)| {
        let (name, path): (Arc<str>, _) = ((*name).into(), format!("/lists/{name}").into());
        let polarity = if &*name == "partners" { Polarity::Allow } else { Polarity::Block };
        let (entries, before) = (targets.len() as u64, blocklist.lists().find(&name));
        let accepted = Accepted {
            name: name.clone(),
            path,
            stamp: None,
            at: clock::now(),
            entries,
            rejected: 0,
            term: None,
            is_missing: false,
            bytes: 0,
            checksum: 0,
            meaning: None,
        };
        let path = accepted.path.clone();
        let found = Found::Accepted {
            targets: targets.clone(),
            accepted,
            draft: None,
            read: Default::default(),
            remarks: Remarks::default(),
        };
        LoadedList {
            name,
            path,
            ttl: None,
            how: How::recognised(Special::INCLUDED),
            meaning: Meaning { polarity, ports: None, reach: Reach::AS_GIVEN },
            before,
            turned: None,
            found,
        }
    });
    let (block, allow) = (plan.block.clone(), plan.allow.clone());
    let (config, copy) = (Config::default(), Default::default());
    Loaded { config, block, allow, lists: lists.collect(), copy, checksum: 0, restores: false }
}

fn targets(random: &mut Random, count: usize) -> Targets {
    (0..count).map(|_| target(random)).collect()
}

/// Whatever may be on a list.
fn target(random: &mut Random) -> Target {
    let address = address(random);
    match (address, random.below(40)) {
        (IpAddr::V4(address), 0..=14) => {
            let lengths = [8, 16, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31];
            Target::V4(Prefix::covering(address.to_bits(), lengths[random.below(lengths.len())]))
        }
        (IpAddr::V6(address), 0..=14) => {
            let lengths = [16, 20, 29, 32, 33, 47, 48, 56, 63, 64, 65, 96, 125, 127];
            Target::V6(Prefix::covering(address.to_bits(), lengths[random.below(lengths.len())]))
        }
        (address, _) => Target::from(address),
    }
}

/// One of not many.
fn address(random: &mut Random) -> IpAddr {
    let [net, host] = [random.below(3), random.below(24)];
    match random.below(3) {
        0 => Ipv6Addr::from_bits(0x2001_0db8 << 96 | (net as u128) << 64 | host as u128).into(),
        _ => Ipv4Addr::from_bits(0xCB00_7100 + (net as u32) * 256 + host as u32).into(),
    }
}

fn source(address: IpAddr) -> Source {
    match address {
        IpAddr::V4(address) => Source::V4(address.to_bits()),
        IpAddr::V6(address) => Source::V6(address.to_bits().into()),
    }
}

/// The same numbers for the same seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % bound.max(1) as u64) as usize
    }
}
