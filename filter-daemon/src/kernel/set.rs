//! One set of sources in the kernel: IPv4 addresses, IPv4 prefixes and IPv6 prefixes. Sets that block, sets
//! that block on some ports, and the set that allows have this same form.

mod enter;
mod leave;
mod relabel;
mod see;

use std::collections::BTreeSet;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::levels::LONGEST_TOLD;
use filter_common::set::LabelView;
use filter_common::sets::SetName;
use filter_common::target::{Prefix, Prefix6};

use super::KernelError;
use super::family::TableFamily;
use super::growth::GrowingFamilies;
use super::kind::{AddressTable, Kind, SixTable};
use super::levels::{LevelMaps, PrefixesForTable};
use super::maps::Maps;
use super::needs::{SetNeeds, WantedTargets};
use super::networks::Networks;
use super::seen::SetWindows;
use super::spec::SetSpec;
use super::store::TableStore;
use super::ways::Ways;
use super::window::Window;

/// Entries whose buckets are prefetched together: a few more than the loads that a processor can have
/// outstanding.
const AT_ONCE: usize = 32;

pub struct SourceSet {
    /// The table of single IPv4 addresses.
    pub addresses: TableFamily<AddressTable>,
    /// The levels of short IPv6 prefixes.
    pub levels: LevelMaps,
    /// IPv6 prefixes that the levels do not hold.
    pub six: TableFamily<SixTable>,
    /// The map of IPv4 prefixes up to /24.
    pub networks: Networks,
    /// The IPv6 prefix lengths that the next judge looks up in the table.
    lengths: BTreeSet<u8>,
}

impl SourceSet {
    pub const fn new(name: SetName) -> Self {
        Self {
            addresses: TableFamily::new(TableStore::new(name)),
            levels: LevelMaps::new(name),
            six: TableFamily::new(TableStore::new(name)),
            networks: Networks::new(name),
            lengths: BTreeSet::new(),
        }
    }

    /// True if the current tables have room for `needs`.
    pub fn has_room(&self, needs: &SetNeeds) -> bool {
        self.addresses.has_room(needs.addresses)
            && self.six.has_room(needs.six)
            && self.levels.has_room(self.table_for(needs), &needs.ways)
    }

    /// True if the next judge looks up everything that `needs` contains.
    pub fn looks_up(&self, needs: &SetNeeds) -> bool {
        (!needs.networks || self.networks.spec().is_some())
            && (!needs.levels || self.levels.spec().is_some())
            && needs.lengths.is_subset(&self.lengths)
    }

    /// Plans room for `needs`.
    pub fn make_room(
        &mut self,
        needs: &SetNeeds,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        self.addresses.make_room(needs.addresses, maps, wanted)?;
        if needs.networks {
            self.networks.make_room(maps)?;
        }
        if needs.levels {
            let is_first = self.levels.spec().is_none();
            self.levels.make_room(self.table_for(needs), &needs.ways, maps, wanted)?;
            // The table takes the prefixes that the levels do not hold, so the levels must be prepared for
            // theirs first.
            if is_first {
                let short = wanted.six_after(None).filter(|prefix| prefix.length() <= LONGEST_TOLD);
                short.for_each(|prefix| _ = self.levels.make_way(prefix));
            }
        }
        self.six.make_room(needs.six, maps, &PrefixesForTable { levels: &self.levels, wanted })?;
        self.lengths.extend(&needs.lengths);
        Ok(())
    }

    /// Starts making larger tables in the background for `needs`, if possible. Returns which ones are being
    /// made.
    pub fn grow_aside(&mut self, needs: &SetNeeds, maps: &mut Maps) -> Result<GrowingFamilies, KernelError> {
        let addresses = self.addresses.grow_aside(needs.addresses, maps)?;
        let six = self.six.grow_aside(needs.six, maps)?;
        if let Some(larger) = self.six.growing_to() {
            self.levels.order(larger, &needs.ways, maps)?;
        }
        Ok(GrowingFamilies { addresses, six })
    }

    /// True if callers that add many entries should wait for a grace period first.
    pub fn is_crowded(&self) -> bool {
        self.addresses.is_crowded() || self.six.is_crowded()
    }

    /// The larger tables that are being made in the background.
    pub const fn growing(&self) -> GrowingFamilies {
        GrowingFamilies { addresses: self.addresses.is_growing(), six: self.six.is_growing() }
    }

    /// Does the next step for larger tables in the making, and for entries that wait for one. `filled` says
    /// which tables may come into use.
    pub fn step(
        &mut self,
        filled: GrowingFamilies,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        self.addresses.step(filled.addresses, maps, wanted)?;
        if !self.six.is_growing() {
            self.levels.forget_ordered(maps);
        } else if self.levels.collect_ordered(maps)? {
            return Ok(());
        }
        self.six.step(filled.six, maps, &PrefixesForTable { levels: &self.levels, wanted })?;
        if self.six.store.has_fresh() {
            self.levels.make_room(self.six.store.geometry(), &Ways::default(), maps, wanted)
        } else {
            Ok(())
        }
    }

    /// Does the next step for entries that are being moved. True if another step is due after a grace period.
    pub fn advance(&mut self) -> bool {
        let due = [self.addresses.store.advance(), self.six.store.advance()];
        due.contains(&true)
    }

    /// Plans new tables for entries that are being moved, unless larger tables are in the making.
    pub fn settle_anew(&mut self, maps: &mut Maps, wanted: &impl WantedTargets) -> Result<(), KernelError> {
        if self.addresses.is_unsettled() && !self.addresses.is_growing() {
            self.addresses.refresh(maps, wanted)?;
        }
        if self.six.is_unsettled() && !self.six.is_growing() {
            self.six.refresh(maps, &PrefixesForTable { levels: &self.levels, wanted })?;
        }
        Ok(())
    }

    /// True if tables are much larger than `needs` requires.
    pub fn is_roomy_for(&self, needs: &SetNeeds) -> bool {
        self.addresses.is_roomy_for(needs.addresses) || self.six.is_roomy_for(self.six_entries(needs))
    }

    /// Plans smaller tables in place of those that are much larger than `needs` requires.
    pub fn shrink_to(
        &mut self,
        needs: &SetNeeds,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        if self.addresses.is_roomy_for(needs.addresses) {
            self.addresses.rebuild(AddressTable::geometry_for(needs.addresses)?, maps, wanted)?;
        }
        let six = self.six_entries(needs);
        if self.six.is_roomy_for(six) {
            let wanted = PrefixesForTable { levels: &self.levels, wanted };
            self.six.rebuild(SixTable::geometry_for(six)?, maps, &wanted)?;
        }
        Ok(())
    }

    /// Plans to look up only what `needs` contains.
    pub fn tidy(&mut self, needs: &SetNeeds, maps: &mut Maps) {
        // Short prefixes are in the table if the levels had no room, and how many remain there is not
        // counted.
        self.lengths.retain(|length| *length <= LONGEST_TOLD || needs.lengths.contains(length));
        if self.six_entries(needs) == 0 {
            self.six.drop_next(maps);
        }
        if !needs.levels {
            self.levels.drop_next(maps);
        }
        if !needs.networks {
            self.networks.drop_next(maps);
        }
    }

    /// Plans an empty set that the judge does not look up.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.tidy(&SetNeeds::default(), maps);
        self.six.drop_next(maps);
        self.addresses.drop_next(maps);
    }

    /// The IPv6 table, or the one that `needs` will require, if that is larger.
    fn table_for(&self, needs: &SetNeeds) -> Option<Geometry> {
        let tables = [self.six.store.geometry(), SixTable::smallest_for(needs.six)];
        tables.into_iter().flatten().max_by_key(Geometry::words)
    }

    /// Entries in the IPv6 table. They include short prefixes that had no room in the levels.
    fn six_entries(&self, needs: &SetNeeds) -> u64 {
        needs.six.max(self.six.store.entries())
    }

    /// The settings for the next judge.
    pub fn spec(&self) -> SetSpec {
        let six = self.six.store.kind().copied();
        SetSpec {
            networks: self.networks.spec(),
            addresses: self.addresses.store.kind().copied(),
            levels: self.levels.spec(),
            lengths: six.map_or_else(BTreeSet::new, |_| self.lengths.clone()),
            six,
        }
    }

    /// The settings for the judge once the `filled` tables are in use, with the larger levels made for them.
    /// None if no such table is filled. Levels that are rebuilt because they are crowded are not included.
    pub fn foreseen(&self, filled: GrowingFamilies) -> Option<SetSpec> {
        let addresses = self.addresses.filled().filter(|_| filled.addresses);
        let six = self.six.filled().filter(|_| filled.six);
        if addresses.is_none() && six.is_none() {
            return None;
        }
        let mut spec = self.spec();
        spec.addresses = addresses.copied().or(spec.addresses);
        if let Some(six) = six {
            (spec.six, spec.lengths) = (Some(*six), self.lengths.clone());
            spec.levels = self.levels.foreseen().or(spec.levels);
        }
        Some(spec)
    }

    /// The larger tables that are filled and can come into use.
    pub fn filled(&self) -> GrowingFamilies {
        let six = self.six.filled().is_some() && !self.levels.is_awaited();
        GrowingFamilies { addresses: self.addresses.filled().is_some(), six }
    }

    /// The maps that packets read.
    pub fn windows(&self) -> SetWindows<'_> {
        SetWindows {
            addresses: self.addresses.store.words(),
            networks: self.networks.words(),
            levels: self.levels.words(),
            six: self.six.store.words(),
        }
    }

    /// The labels that packets read.
    pub fn labels(&self) -> LabelView<&Window> {
        LabelView {
            addresses: self.addresses.store.labels(),
            networks: self.networks.labels(),
            levels: self.levels.labels(),
            six: self.six.store.labels(),
        }
    }

    /// True if every table that should have labels has them.
    pub fn is_labelled(&self) -> bool {
        self.addresses.store.is_labelled()
            && self.networks.is_labelled()
            && self.levels.is_labelled()
            && self.six.store.is_labelled()
    }

    /// Plans to rebuild everything that lacks labels, with labels.
    pub fn label_all(&mut self, maps: &mut Maps, wanted: &impl WantedTargets) -> Result<(), KernelError> {
        if !self.addresses.store.is_labelled() {
            self.addresses.make_anew(maps, wanted)?;
        }
        self.networks.label_all(maps, wanted)?;
        self.levels.label_all(maps, wanted)?;
        if !self.six.store.is_labelled() {
            self.six.make_anew(maps, &PrefixesForTable { levels: &self.levels, wanted })?;
        }
        Ok(())
    }

    /// Releases the labels of the current tables: no judge reads them.
    pub fn forget_labels(&mut self) {
        self.addresses.store.forget_labels();
        self.networks.forget_labels();
        self.levels.forget_labels();
        self.six.store.forget_labels();
    }

    pub fn publish(&mut self) {
        self.addresses.publish();
        self.levels.publish();
        self.six.publish();
        self.networks.publish();
    }

    /// Discards the plan. `published` is the state that packets see.
    pub fn discard(&mut self, published: SetSpec, maps: &mut Maps) {
        self.addresses.discard(maps);
        self.levels.discard(maps);
        self.six.discard(maps);
        self.networks.discard(maps);
        self.lengths = published.lengths;
    }
}

/// The first /64 of each /32: one bit of the levels covers all of them.
fn one_of_each_32(nets: &[u64]) -> impl Iterator<Item = Prefix6> + '_ {
    let rows = nets.chunk_by(|net, next| net >> 32 == next >> 32);
    rows.map(|row| Prefix::covering(u128::from(row[0]) << 64, 64))
}
