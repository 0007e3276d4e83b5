//! What a judge is built for: which lookups it makes, in tables of which geometry, under which keys.

use std::collections::BTreeSet;

use filter_common::cuckoo::exact::{self, Exact};
use filter_common::cuckoo::geometry::{EXACT4_BITS, Geometry, SIX_BITS};
use filter_common::cuckoo::scheme::Scheme;
use filter_common::cuckoo::six::{self, Key6, Six};
use filter_common::hash::{self, Hash};
use filter_common::settings::{AddressSettings, LengthSettings, SetSettings, Settings, SixSettings};
use filter_common::stash;
use filter_common::target::Prefix6;

use super::broker::request::{Blueprint, MapName, MapUse};

/// Everything that a judge's settings say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeSpec {
    /// Drop, or only count?
    pub enforce: bool,
    /// The generation of the IPv4 prefixes' map, if there are any.
    pub networks: Option<u64>,
    /// The table of IPv4 addresses, if there is one.
    pub addresses: Option<Addresses>,
    /// The table of IPv6 prefixes, if there is one.
    pub six: Option<SixTable>,
}

/// The table of IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Which map.
    pub generation: u64,
    /// Its geometry.
    pub geometry: Geometry,
    key: exact::Key,
}

/// The table of IPv6 prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SixTable {
    /// Which map.
    pub generation: u64,
    /// Its geometry.
    pub geometry: Geometry,
    /// Lengths in use.
    pub lengths: BTreeSet<u8>,
    key64: exact::Key,
    key: [u64; hash::KEY_WORDS],
}

/// A kind of cuckoo table: what a judge must know to look into one of it.
pub trait Kind {
    /// Who stands where in it.
    type Scheme: Scheme + Copy;

    /// Which maps it lives in.
    const MAP: MapName;

    /// Words of such a map before the buckets: the stashes.
    const HEAD: u32;

    /// The smallest geometry that takes so many entries.
    fn geometry_for(entries: u64) -> Option<Geometry>;

    /// The most entries that any table of this kind takes.
    fn most() -> u64;

    /// Which map, of which geometry.
    fn identity(&self) -> (u64, Geometry);

    /// Who stands where.
    fn scheme(&self) -> Self::Scheme;

    /// Words of its map.
    fn words(&self) -> u32 {
        Self::HEAD + self.identity().1.words()
    }
}

impl Addresses {
    /// A table under a new secret key.
    pub fn new(generation: u64, geometry: Geometry) -> Self {
        Self { generation, geometry, key: exact::key(secret()) }
    }

    fn settings(&self) -> AddressSettings {
        let lanes = self.geometry.lanes();
        AddressSettings {
            in_use: 1,
            index_bits: self.geometry.index_bits().into(),
            lane_ones: lanes.ones(),
            lane_highs: lanes.highs(),
            key: self.key,
        }
    }
}

impl Kind for Addresses {
    type Scheme = Exact;

    const MAP: MapName = MapName::Addresses;
    const HEAD: u32 = stash::WORDS;

    fn geometry_for(entries: u64) -> Option<Geometry> {
        Geometry::exact4_for(entries)
    }

    fn most() -> u64 {
        Geometry::exact4(*EXACT4_BITS.end()).limit()
    }

    fn identity(&self) -> (u64, Geometry) {
        (self.generation, self.geometry)
    }

    fn scheme(&self) -> Exact {
        Exact::new(32, self.key, self.geometry.index_bits(), 1)
    }
}

impl SixTable {
    /// A table for these lengths under new secret keys.
    pub fn new(generation: u64, geometry: Geometry, lengths: BTreeSet<u8>) -> Self {
        Self { generation, geometry, lengths, key64: exact::key(secret()), key: secret() }
    }

    /// The key under which `prefix` stands in it.
    pub fn key(&self, prefix: Prefix6) -> Key6 {
        match prefix.length() {
            64 => Key6::Net64((prefix.address() >> 64) as u64),
            length => {
                Key6::Other(six::fingerprint(&Hash::new(self.key), prefix.address().into(), length.into()))
            }
        }
    }

    fn settings(&self) -> SixSettings {
        let hash = Hash::new(self.key);
        let others = self.lengths.iter().copied().filter(|&length| length != 64);
        let mut settings = SixSettings {
            nets64: self.lengths.contains(&64).into(),
            others: others.clone().count() as u64,
            index_bits: self.geometry.index_bits().into(),
            last_bucket: (self.geometry.buckets() - 1).into(),
            key64: self.key64,
            pairs: hash.pairs(),
            ..SixSettings::OFF
        };
        for (place, length) in settings.lengths.iter_mut().zip(others) {
            *place = LengthSettings::new(&hash, length);
        }
        settings
    }
}

impl Kind for SixTable {
    type Scheme = Six;

    const MAP: MapName = MapName::Six;
    const HEAD: u32 = six::STASHES * stash::WORDS;

    fn geometry_for(entries: u64) -> Option<Geometry> {
        Geometry::six_for(entries)
    }

    fn most() -> u64 {
        Geometry::six(*SIX_BITS.end()).limit()
    }

    fn identity(&self) -> (u64, Geometry) {
        (self.generation, self.geometry)
    }

    fn scheme(&self) -> Six {
        Six::new(self.key64, self.geometry.index_bits())
    }
}

impl JudgeSpec {
    /// What the judge is built from.
    pub fn blueprint(&self) -> Blueprint {
        let addresses = self.addresses.as_ref().map(|table| (MapName::Addresses, table.generation));
        let networks = self.networks.map(|generation| (MapName::Networks, generation));
        let six = self.six.as_ref().map(|table| (MapName::Six, table.generation));
        let in_use = [addresses, networks, six].into_iter().flatten();
        let maps = in_use.map(|(map, generation)| MapUse { map, generation }).collect();
        Blueprint { settings: self.settings().as_words().to_vec(), maps }
    }

    /// What the program is told.
    pub fn settings(&self) -> Settings {
        let block = SetSettings {
            networks4: self.networks.is_some().into(),
            addresses4: self.addresses.as_ref().map_or(AddressSettings::OFF, Addresses::settings),
            six: self.six.as_ref().map_or(SixSettings::OFF, SixTable::settings),
        };
        Settings { enforce: self.enforce.into(), block }
    }
}

/// A key that nobody else knows; made anew for every table, and never written anywhere.
fn secret<const WORDS: usize>() -> [u64; WORDS] {
    std::array::from_fn(|_| {
        getrandom::u64().expect("the kernel always has random numbers once it has booted")
    })
}
