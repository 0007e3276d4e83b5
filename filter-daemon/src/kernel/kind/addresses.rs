//! The table of IPv4 addresses.

use std::iter;

use filter_common::Words;
use filter_common::cuckoo::Table;
use filter_common::cuckoo::exact::{self, Exact};
use filter_common::cuckoo::geometry::{EXACT4_BITS, Geometry};
use filter_common::settings::AddressSettings;
use filter_common::target::Prefix6;

use super::{Keys, Kind, Live, secret};
use crate::kernel::broker::request::MapPart;
use crate::kernel::needs::SixTargets;

/// The table of IPv4 addresses. Bucket and code spell the address, so that it can be made anew out of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Which map.
    pub generation: u64,
    geometry: Geometry,
    key: exact::Key,
}

impl Addresses {
    /// What a judge must know of it.
    pub fn settings(&self) -> AddressSettings {
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

    const PART: MapPart = MapPart::Addresses;
    const NAME: &str = "ipv4 addresses";

    fn smallest_for(entries: u64) -> Option<Geometry> {
        Geometry::exact4_for(entries)
    }

    fn most() -> u64 {
        Geometry::exact4(*EXACT4_BITS.end()).limit()
    }

    fn new(generation: u64, geometry: Geometry) -> Self {
        Self { generation, geometry, key: exact::key(secret()) }
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn scheme(&self) -> Exact {
        Exact::new(32, self.key, self.geometry.index_bits())
    }

    fn keys<'a>(
        &'a self,
        live: Option<&'a Live<Self>>,
        _wanted: &'a impl SixTargets,
    ) -> impl Iterator<Item = u64> + 'a {
        live.into_iter().flat_map(|live| spelled(live.table()).chain(live.unplaced()))
    }

    fn copied(live: Option<&Live<Self>>) -> Option<Keys<Self>> {
        let Some(live) = live else { return Some(Box::new(iter::empty())) };
        let table = live.table();
        let words = (0..table.geometry().words()).map(|at| table.words().load(at)).collect();
        let copy = Table::new(*table.scheme(), table.geometry(), Copied(words));
        let unplaced: Vec<u64> = live.unplaced().collect();
        Some(Box::new(spelled_by(copy).chain(unplaced)))
    }

    fn page(&self, _: &impl SixTargets, _: Option<Prefix6>, _: usize) -> (Vec<u64>, Option<Prefix6>) {
        (Vec::new(), None)
    }
}

fn spelled<W: Words>(table: &Table<Exact, W>) -> impl Iterator<Item = u64> + '_ {
    table.entries().map(|home| table.scheme().key(home))
}

fn spelled_by(table: Table<Exact, Copied>) -> impl Iterator<Item = u64> + Send {
    let slots = u64::from(table.geometry().bucket_slots());
    (0..table.geometry().slots()).filter_map(move |number| {
        let home = table.home_at((number / slots) as u32, (number % slots) as u32);
        (home.code != 0).then(|| table.scheme().key(home))
    })
}

/// Words as they were.
struct Copied(Vec<u64>);

impl Words for Copied {
    fn load(&self, index: u32) -> u64 {
        self.0.get(index as usize).copied().unwrap_or_default()
    }
}
