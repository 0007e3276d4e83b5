//! The cuckoo table of IPv4 addresses: its settings, its keys and its entries.

use std::iter;

use filter_common::Words;
use filter_common::cuckoo::Table;
use filter_common::cuckoo::exact::{self, Exact};
use filter_common::cuckoo::geometry::Geometry;
use filter_common::labels::{Label, Labels, OTHER};
use filter_common::settings::AddressSettings;
use filter_common::target::Prefix6;

use super::{Entries, Kind, Live, secret};
use crate::kernel::broker::request::MapPart;
use crate::kernel::broker::size;
use crate::kernel::needs::{self, SixTargets};

/// The settings of an address table. Bucket and code determine the address, so a table can be rebuilt from
/// its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressTable {
    pub generation: u64,
    geometry: Geometry,
    is_labelled: bool,
    key: exact::Key,
}

impl AddressTable {
    /// The settings that a judge needs to read the table.
    pub fn settings(&self) -> AddressSettings {
        let lanes = self.geometry.lanes();
        AddressSettings {
            in_use: 1,
            buckets: self.geometry.buckets().into(),
            remainder_mask: self.scheme().remainder_mask(),
            place_mask: self.scheme().place_mask(),
            lane_ones: lanes.ones(),
            lane_highs: lanes.highs(),
            label_words: if self.is_labelled { size::labels_beside(self.geometry).into() } else { 0 },
            lanes: lanes.count().into(),
            last_lane: lanes.last().into(),
            key: self.key,
        }
    }
}

impl AddressTable {
    /// The table under a key that the test chose.
    #[cfg(test)]
    pub const fn under(self, key: exact::Key) -> Self {
        Self { key, ..self }
    }

    /// The key of an address, and its label if the table has labels.
    pub fn entry(&self, address: u32, wanted: &impl needs::LabelSource) -> (u64, Label) {
        (address.into(), if self.is_labelled { wanted.label_of_address(address) } else { OTHER })
    }
}

impl Kind for AddressTable {
    type Scheme = Exact;

    const PART: MapPart = MapPart::Addresses;
    const NAME: &str = "ipv4 addresses";

    fn smallest_for(entries: u64) -> Option<Geometry> {
        Geometry::exact4_for(entries)
    }

    fn most() -> u64 {
        Geometry::LARGEST_EXACT4.limit()
    }

    fn new(generation: u64, geometry: Geometry, is_labelled: bool) -> Self {
        Self { generation, geometry, is_labelled, key: exact::key(secret()) }
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn is_labelled(&self) -> bool {
        self.is_labelled
    }

    fn forget_labels(&mut self) {
        self.is_labelled = false;
    }

    fn scheme(&self) -> Exact {
        Exact::new(32, self.key, self.geometry)
    }

    fn entries<'a>(
        &'a self,
        live: Option<&'a Live<Self>>,
        wanted: &'a impl SixTargets,
    ) -> impl Iterator<Item = (u64, Label)> + 'a {
        let all = live.into_iter().flat_map(|live| spelled(live.table()).chain(live.unplaced()));
        // A table without labels cannot supply them, so `wanted` is asked.
        let asks = self.is_labelled && live.is_some_and(|live| live.table().labels().all().is_none());
        let label = |address| wanted.label_of_address(address);
        all.map(move |(address, known)| (address, if asks { label(address as u32) } else { known }))
    }

    fn copied(live: Option<&Live<Self>>) -> Option<Entries<Self>> {
        let Some(live) = live else { return Some(Box::new(iter::empty())) };
        let (table, labels) = (live.table(), live.table().labels());
        let words = (0..table.geometry().words()).map(|at| table.words().load(at)).collect();
        let slots = if labels.all().is_some() { table.geometry().slots() as u32 } else { 0 };
        let labels = (0..slots).map(|number| labels.label(number)).collect();
        let copy =
            Table::labelled(*table.scheme(), table.geometry(), CopiedAddresses(words), CopiedLabels(labels));
        let unplaced: Vec<_> = live.unplaced().collect();
        Some(Box::new(spelled_by(copy).chain(unplaced)))
    }

    fn page(
        &self,
        _: &impl SixTargets,
        _: Option<Prefix6>,
        _: usize,
    ) -> (Vec<(u64, Label)>, Option<Prefix6>) {
        (Vec::new(), None)
    }
}

fn spelled<W: Words, L: Labels>(table: &Table<Exact, W, L>) -> impl Iterator<Item = (u64, Label)> + '_ {
    (0..table.geometry().slots()).filter_map(|number| entry_at(table, number))
}

fn spelled_by(
    table: Table<Exact, CopiedAddresses, CopiedLabels>,
) -> impl Iterator<Item = (u64, Label)> + Send {
    (0..table.geometry().slots()).filter_map(move |number| entry_at(&table, number))
}

/// The entry in the slot of this number.
fn entry_at<W: Words, L: Labels>(table: &Table<Exact, W, L>, number: u64) -> Option<(u64, Label)> {
    let slots = u64::from(table.geometry().bucket_slots());
    let home = table.home_at((number / slots) as u32, (number % slots) as u32);
    (home.code != 0).then(|| (table.scheme().key(home), table.labels().label(number as u32)))
}

/// A copy of a table's words.
struct CopiedAddresses(Vec<u64>);

impl Words for CopiedAddresses {
    fn load(&self, index: u32) -> u64 {
        self.0.get(index as usize).copied().unwrap_or_default()
    }
}

/// A copy of a table's labels.
struct CopiedLabels(Vec<Label>);

impl Labels for CopiedLabels {
    fn label(&self, number: u32) -> Label {
        self.0.get(number as usize).copied().unwrap_or(OTHER)
    }
}
