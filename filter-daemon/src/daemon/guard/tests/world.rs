//! Random host states and lists. They use few addresses, so that they overlap.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use filter_common::direction::Direction;
use filter_common::packet::Source;
use filter_common::target::{Prefix, Target};

use super::super::super::reload::{ListFinding, Loaded, LoadedList};
use super::super::ProtectedAddress;
use crate::blocklist::{Blocklist, Meaning, Polarity, Reach, Targets};
use crate::clock;
use crate::config::Config;
use crate::host::HostRole;
use crate::plan::Continued;
use crate::source::digest::Digest;
use crate::source::peaks::Peaks;
use crate::source::reading::{AcceptedSource, SourceReadings};
use crate::source::{Limits, ReadOptions, Remarks, SpecialRanges};

/// Half of all addresses, or all. Adding them takes time, so only a few stories have them.
const WIDE: [&[&str]; 3] = [&["0.0.0.0/0"], &["::/0"], &["128.0.0.0/1", "2000::/3"]];

/// The content of a configuration.
#[derive(Debug, Default)]
pub(super) struct TestConfiguration {
    block: Targets,
    allow: Targets,
    lists: Vec<TestList>,
}

/// The name of a list, its direction, how long its entries stay after it no longer names them, and its targets.
type TestList = (&'static str, Direction, Option<Duration>, Targets);

impl TestConfiguration {
    /// Whether the lists hold nothing but very wide targets.
    pub(super) fn is_bare(&self) -> bool {
        self.lists.is_empty() && !self.block.is_empty() && self.block.iter().all(|target| target.is_wide())
    }
}

/// Random facts of a host: own addresses, gateways, sessions and name servers, in the range that lists use.
pub(super) fn facts(random: &mut Random) -> (Vec<ProtectedAddress>, Vec<ProtectedAddress>) {
    let mut some = |most: usize, what: &HostRole| -> Vec<ProtectedAddress> {
        let count = random.below(most + 1);
        (0..count).map(|_| ProtectedAddress { address: address(random), what: what.clone() }).collect()
    };
    let links = [some(3, &HostRole::Own("eth0".into())), some(2, &HostRole::Gateway)].concat();
    (links, [some(2, &HostRole::Session("root".into())), some(2, &HostRole::NameServer)].concat())
}

/// The next random configuration. Some lists keep their time and get more targets.
pub(super) fn plan(random: &mut Random, before: &TestConfiguration) -> TestConfiguration {
    let few = |random: &mut Random, most| {
        let count = random.below(most);
        targets(random, count)
    };
    let lists =
        [("one", 30, [2, 4]), ("two", 8, [4, 6]), ("partners", 6, [1, 3])].map(|(name, most, hours)| {
            let hours = [None, Some(hours[0]), Some(hours[1])][random.below(3)];
            let ttl = hours.map(|hours: u64| Duration::from_secs(hours * 3600));
            let direction = match name {
                "one" => Direction::ALL[random.below(3)],
                "two" => Direction::Out,
                _ => Direction::In,
            };
            match before.lists.iter().find(|list| list.0 == name && random.below(2) == 0) {
                Some((.., ttl, named)) => {
                    (name, direction, *ttl, named.iter().chain(few(random, 3).iter()).collect())
                }
                None => (name, direction, ttl, few(random, most)),
            }
        });
    let lists = lists.into_iter().filter(|_| random.below(3) > 0).collect();
    let (mut block, allow) = (few(random, 10), few(random, 3));
    if random.below(40) == 0 {
        let wide = WIDE[random.below(3)].iter().map(|wide| wide.parse::<Target>().unwrap());
        if random.below(2) == 0 {
            return TestConfiguration { block: wide.collect(), allow: Targets::default(), lists: Vec::new() };
        }
        wide.for_each(|wide| block.push(wide));
        block.sort();
    }
    TestConfiguration { block, allow, lists }
}

/// The plan as the reading thread would return it.
pub(super) fn loaded(plan: &TestConfiguration, blocklist: &Blocklist, sources: &SourceReadings) -> Loaded {
    let lists = plan.lists.iter().map(|(name, direction, ttl, targets)| {
        let (name, path): (Arc<str>, _) = ((*name).into(), format!("/lists/{name}").into());
        let polarity = if &*name == "partners" { Polarity::Allow } else { Polarity::Block };
        let (entries, before) = (targets.len() as u64, blocklist.lists().find(&name));
        let accepted = AcceptedSource {
            name: name.clone(),
            path,
            stamp: None,
            at: clock::now(),
            entries,
            rejected: 0,
            term: None,
            is_missing: false,
            bytes: 0,
            digest: Digest::of(&[]),
            meaning: None,
            peaks: Peaks::default(),
            times: None,
        };
        let path = accepted.path.clone();
        let found = ListFinding::Accepted {
            targets: targets.clone(),
            accepted,
            draft: None,
            read: Default::default(),
            remarks: Remarks::default(),
        };
        LoadedList {
            name,
            path,
            ttl: *ttl,
            how: ReadOptions::recognised(SpecialRanges::INCLUDED),
            limits: Limits::default(),
            meaning: Meaning { polarity, ports: None, direction: *direction, reach: Reach::AS_GIVEN },
            continues: before.map_or(Continued::New, Continued::Same),
            ttl_before: before.and_then(|id| sources.ttl(id)),
            times: None,
            found,
        }
    });
    let (block, allow) = (plan.block.clone(), plan.allow.clone());
    let config = Config::default();
    Loaded {
        config,
        block,
        allow,
        lists: lists.collect(),
        text: None,
        checksum: 0,
        restores: false,
        says_its_file: false,
    }
}

pub(super) fn targets(random: &mut Random, count: usize) -> Targets {
    (0..count).map(|_| target(random)).collect()
}

/// Any target that a list may contain.
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

/// One of a few addresses.
pub(super) fn address(random: &mut Random) -> IpAddr {
    let [net, host] = [random.below(3), random.below(24)];
    match random.below(3) {
        0 => Ipv6Addr::from_bits(0x2001_0db8 << 96 | (net as u128) << 64 | host as u128).into(),
        _ => Ipv4Addr::from_bits(0xCB00_7100 + (net as u32) * 256 + host as u32).into(),
    }
}

pub(super) fn source(address: IpAddr) -> Source {
    match address {
        IpAddr::V4(address) => Source::V4(address.to_bits()),
        IpAddr::V6(address) => Source::V6(address.to_bits().into()),
    }
}

/// Returns the same numbers for the same seed (splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % bound.max(1) as u64) as usize
    }
}
