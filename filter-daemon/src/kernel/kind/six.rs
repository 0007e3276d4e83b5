//! The cuckoo table of IPv6 prefixes: its settings, its keys and its entries.

use std::collections::BTreeSet;

use filter_common::cuckoo::exact;
use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::six::{self, Key6, Six};
use filter_common::hash::Hash;
use filter_common::labels::{Label, OTHER};
use filter_common::settings::{LengthSettings, SixSettings};
use filter_common::target::Prefix6;

use super::{Entries, Kind, Live, secret};
use crate::kernel::broker::request::MapPart;
use crate::kernel::broker::size;
use crate::kernel::needs::{LabelSource, SixTargets};

/// The settings of an IPv6 table. Its codes do not contain the whole prefix, so it is rebuilt from the wanted
/// targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SixTable {
    pub generation: u64,
    geometry: Geometry,
    is_labelled: bool,
    key64: exact::Key,
    hash: Hash,
}

impl SixTable {
    /// The settings for a judge that looks up these lengths.
    pub fn settings(&self, lengths: &BTreeSet<u8>) -> SixSettings {
        let longer = lengths.range(65..);
        let mut settings = SixSettings {
            has_table: 1,
            to_64: lengths.range(1..=64).fold(0, |bits, length| bits | 1 << (64 - length)),
            shorter: lengths.range(..64).count() as u64,
            longer: longer.clone().count() as u64,
            buckets: self.geometry.buckets().into(),
            index_bits: self.geometry.index_bits().into(),
            label_words: if self.is_labelled { size::labels_beside(self.geometry).into() } else { 0 },
            key64: self.key64,
            pairs: self.hash.pairs(),
            ..SixSettings::OFF
        };
        for (place, length) in settings.lengths.iter_mut().zip(longer) {
            *place = LengthSettings::new(&self.hash, *length);
        }
        settings
    }

    /// The key of a prefix in this table.
    pub fn key(&self, prefix: Prefix6) -> Key6 {
        six::key(&self.hash, prefix.address().into(), prefix.length())
    }

    /// The key of a prefix, and its label if the table has labels.
    pub fn entry(&self, prefix: Prefix6, wanted: &impl LabelSource) -> (Key6, Label) {
        (self.key(prefix), if self.is_labelled { wanted.label_of_six(prefix) } else { OTHER })
    }
}

impl Kind for SixTable {
    type Scheme = Six;

    const PART: MapPart = MapPart::Six;
    const NAME: &str = "ipv6";

    fn smallest_for(entries: u64) -> Option<Geometry> {
        Geometry::six_for(entries)
    }

    fn most() -> u64 {
        Geometry::LARGEST_SIX.limit()
    }

    fn new(generation: u64, geometry: Geometry, is_labelled: bool) -> Self {
        Self { generation, geometry, is_labelled, key64: exact::key(secret()), hash: Hash::new(secret()) }
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

    fn scheme(&self) -> Six {
        Six::new(self.geometry, self.key64)
    }

    fn entries<'a>(
        &'a self,
        _live: Option<&'a Live<Self>>,
        wanted: &'a impl SixTargets,
    ) -> impl Iterator<Item = (Key6, Label)> + 'a {
        wanted.six_after(None).map(|prefix| self.entry(prefix, wanted))
    }

    fn copied(_live: Option<&Live<Self>>) -> Option<Entries<Self>> {
        None
    }

    fn page(
        &self,
        wanted: &impl SixTargets,
        after: Option<Prefix6>,
        most: usize,
    ) -> (Vec<(Key6, Label)>, Option<Prefix6>) {
        let mut last = None;
        let page = wanted.six_after(after).take(most).inspect(|prefix| last = Some(*prefix));
        (page.map(|prefix| self.entry(prefix, wanted)).collect(), last)
    }
}
