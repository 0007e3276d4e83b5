//! Manages the table of one family. It makes room by larger tables, at once or in the background, and chooses
//! a new key where entries crowd under the current one.

use filter_common::cuckoo::geometry::Geometry;

use super::growth::{Growth, GrowthError};
use super::kind::{Key, Kind, TableEntry};
use super::maps::Maps;
use super::needs::SixTargets;
use super::store::TableStore;
use super::{KernelError, Occupancy};

/// A table may exceed its limit for a while by this part of it: far below the first refusal at any geometry.
const MARGIN: u64 = 64;

/// The least such excess. It covers single additions while the larger table of a small one is being made. If
/// one of them finds no place, its caller waits for the larger table, as it would without the excess.
const FEW: u64 = 32;

/// Keys to try before a table that refuses below its limit is made larger. About one key in a hundred
/// refuses.
const KEYS: u32 = 3;

/// The table of one family, and the larger one that is being made in the background.
pub struct TableFamily<K: Kind> {
    pub store: TableStore<K>,
    growth: Option<Growth<K>>,
    /// Refusals since the last publication.
    refusals: u32,
}

impl<K: Kind> TableFamily<K> {
    pub const fn new(store: TableStore<K>) -> Self {
        Self { store, growth: None, refusals: 0 }
    }

    pub fn has_room(&self, entries: u64) -> bool {
        entries <= self.store.limit()
    }

    /// True if a larger table is being made in the background.
    pub const fn is_growing(&self) -> bool {
        self.growth.is_some()
    }

    /// The geometry of that larger table.
    pub fn growing_to(&self) -> Option<Geometry> {
        self.growth.as_ref().map(|growth| growth.kind().geometry())
    }

    /// The settings of the larger table, if it is filled and can come into use now.
    pub fn filled(&self) -> Option<&K> {
        self.growth.as_ref().filter(|growth| growth.is_filled()).map(Growth::kind)
    }

    /// True if there is a table with much more room than this many entries need.
    pub fn is_roomy_for(&self, entries: u64) -> bool {
        !self.is_growing() && self.store.is_roomy_for(entries)
    }

    /// Makes room for this many entries. A small excess over the limit is allowed while a larger table is
    /// made in the background. For more entries this waits for the larger table.
    pub fn make_room(
        &mut self,
        entries: u64,
        maps: &mut Maps,
        wanted: &impl SixTargets,
    ) -> Result<(), KernelError> {
        let limit = self.store.limit();
        if entries <= limit
            || entries <= limit + FEW.max(limit / MARGIN) && self.grow_aside(limit + 1, maps)?
        {
            return Ok(());
        }
        self.end_growth(maps, wanted)?;
        if self.has_room(entries) { Ok(()) } else { self.rebuild(K::grown(limit, entries)?, maps, wanted) }
    }

    /// Starts making a table for this many entries in the background, if the current one is too small. If
    /// there is no table, only a large one is started: small ones are made when they are needed. True if one
    /// is being made.
    pub fn grow_aside(&mut self, entries: u64, maps: &mut Maps) -> Result<bool, KernelError> {
        if self.has_room(entries) || self.store.has_fresh() {
            return Ok(false);
        }
        if self.growth.is_none() {
            self.begin_growth(K::grown(self.store.limit(), entries)?, maps)?;
        }
        Ok(self.is_growing())
    }

    /// Does the next step for the larger table. If the caller found it `filled`, it becomes the fresh table.
    /// A table that was filled since then waits for the next step, because the caller has loaded no judge for
    /// it.
    pub fn step(
        &mut self,
        filled: bool,
        maps: &mut Maps,
        wanted: &impl SixTargets,
    ) -> Result<(), KernelError> {
        let Some(growth) = &mut self.growth else { return self.step_where_stuck(maps) };
        if !filled {
            let done = growth.step(wanted, maps);
            return done.inspect_err(|_| self.drop_growth(maps));
        }
        match self.finish_growth(maps, wanted)? {
            None => Ok(()),
            Some(refused) => {
                let geometry = self.after_refusal_of(refused)?;
                self.begin_growth(geometry, maps)
            }
        }
    }

    /// Adds an entry unless it is there. If there is neither a path nor room in the stash, the table is
    /// rebuilt.
    pub fn enter(
        &mut self,
        entry_in: impl Fn(&K) -> TableEntry<K>,
        maps: &mut Maps,
        wanted: &impl SixTargets,
    ) -> Result<(), KernelError> {
        while self.store.enter(&entry_in).is_err() {
            if self.is_growing() {
                self.end_growth(maps, wanted)?;
            } else {
                let geometry = self.after_refusal()?;
                self.rebuild(geometry, maps, wanted)?;
            }
        }
        self.growth.iter_mut().for_each(|growth| growth.entered(&entry_in));
        Ok(())
    }

    /// Adds many entries in the same way.
    pub fn enter_all(
        &mut self,
        entry_in: impl Fn(&K, usize) -> TableEntry<K>,
        count: usize,
        maps: &mut Maps,
        wanted: &impl SixTargets,
    ) -> Result<(), KernelError> {
        let mut next = 0;
        loop {
            let entered = next..next + self.store.enter_all(&entry_in, next..count);
            next = entered.end;
            if let Some(growth) = &mut self.growth {
                entered.for_each(|number| growth.entered(|kind| entry_in(kind, number)));
            }
            if next == count {
                return Ok(());
            }
            self.enter(|kind| entry_in(kind, next), maps, wanted)?;
            next += 1;
        }
    }

    /// Replaces the label of an entry in all tables that hold it.
    pub fn relabel(&mut self, entry_in: impl Fn(&K) -> TableEntry<K>) {
        self.store.relabel(&entry_in);
        self.growth.iter_mut().for_each(|growth| growth.relabelled(&entry_in));
    }

    /// Removes a key from all tables that hold it.
    pub fn leave(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        self.store.leave(&key_in);
        self.growth.iter_mut().for_each(|growth| growth.left(&key_in));
    }

    /// Rebuilds the table in this geometry. Chooses a larger one if several keys refuse, or if there are more
    /// entries than the geometry takes.
    pub fn rebuild(
        &mut self,
        mut geometry: Geometry,
        maps: &mut Maps,
        wanted: &impl SixTargets,
    ) -> Result<(), KernelError> {
        self.drop_growth(maps);
        let mut tries = 0_u32;
        loop {
            let mut built = self.store.build(geometry, maps)?;
            if built.live.fill_whole(built.kind.entries(self.store.newest_live(), wanted)).is_ok() {
                self.store.put(built, maps);
                return Ok(());
            }
            tries += 1;
            let next = if built.live.entries() >= geometry.limit() {
                let entries = built.kind.entries(self.store.newest_live(), wanted).count();
                K::grown(geometry.limit(), entries as u64)
            } else if tries.is_multiple_of(KEYS) {
                larger::<K>(geometry)
            } else {
                Ok(geometry)
            };
            self.store.forget(&built.kind, maps);
            geometry = next?;
        }
    }

    /// Rebuilds the current table in its geometry, unless there is a fresh one.
    pub fn refresh(&mut self, maps: &mut Maps, wanted: &impl SixTargets) -> Result<(), KernelError> {
        match self.store.geometry() {
            Some(geometry) if !self.store.has_fresh() => self.rebuild(geometry, maps, wanted),
            Some(_) | None => Ok(()),
        }
    }

    /// Rebuilds the newest table in its geometry, even if it is fresh.
    pub fn make_anew(&mut self, maps: &mut Maps, wanted: &impl SixTargets) -> Result<(), KernelError> {
        self.store.geometry().map_or(Ok(()), |geometry| self.rebuild(geometry, maps, wanted))
    }

    /// Plans to have no table.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.drop_growth(maps);
        self.store.drop_next(maps);
    }

    /// Discards the fresh table. A larger table in the making belongs to no plan and continues.
    pub fn discard(&mut self, maps: &mut Maps) {
        self.refusals = 0;
        self.store.discard(maps);
    }

    /// Makes the fresh table current.
    pub fn publish(&mut self) {
        self.refusals = 0;
        self.store.publish();
    }

    /// True if callers that add many entries should wait for a grace period first.
    pub fn is_crowded(&self) -> bool {
        self.store.current_live().is_some_and(|live| live.is_crowded())
    }

    /// True if entries are being moved, or wait for it.
    pub fn is_unsettled(&self) -> bool {
        self.store.current_live().is_some_and(|live| live.is_unsettled())
    }

    pub fn occupancy(&self) -> Occupancy {
        self.store.occupancy()
    }

    /// If no batch can make room for entries that wait in the stash, starts a larger table.
    fn step_where_stuck(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        let is_stuck = self.store.current_live().is_some_and(|live| live.is_stuck());
        if !is_stuck || self.store.has_fresh() {
            return Ok(());
        }
        let geometry = self.after_refusal()?;
        self.begin_growth(geometry, maps)
    }

    fn begin_growth(&mut self, geometry: Geometry, maps: &mut Maps) -> Result<(), KernelError> {
        let live = self.store.current_live();
        if live.is_none() && maps.are_quick(geometry.words()) {
            return Ok(());
        }
        let (kind, map) = self.store.order(geometry, maps)?;
        self.growth = Some(Growth::begin(live, kind, map));
        Ok(())
    }

    /// Makes the larger table the fresh one, if one is in the making. Waits until it is filled.
    fn end_growth(&mut self, maps: &mut Maps, wanted: &impl SixTargets) -> Result<(), KernelError> {
        match self.finish_growth(maps, wanted)? {
            None => Ok(()),
            Some(refused) => {
                let geometry = self.after_refusal_of(refused)?;
                self.rebuild(geometry, maps, wanted)
            }
        }
    }

    /// Returns the geometry if an entry found no room under its key.
    fn finish_growth(
        &mut self,
        maps: &mut Maps,
        wanted: &impl SixTargets,
    ) -> Result<Option<Geometry>, KernelError> {
        let Some(growth) = self.growth.take() else { return Ok(None) };
        let kind = *growth.kind();
        match growth.finish(wanted, maps) {
            Ok(built) => {
                self.store.put(built, maps);
                Ok(None)
            }
            Err(not_made) => {
                self.store.forget(&kind, maps);
                match not_made {
                    GrowthError::Full => Ok(Some(kind.geometry())),
                    GrowthError::Refused(error) => Err(error),
                }
            }
        }
    }

    fn drop_growth(&mut self, maps: &mut Maps) {
        if let Some(growth) = self.growth.take() {
            self.store.forget(growth.kind(), maps);
        }
    }

    /// The geometry to try after the newest table has refused an entry.
    fn after_refusal(&mut self) -> Result<Geometry, KernelError> {
        match self.store.geometry() {
            Some(geometry) => self.after_refusal_of(geometry),
            None => K::geometry_for(1),
        }
    }

    /// The same geometry for another key. A larger one if several keys have refused, or if the table is full.
    fn after_refusal_of(&mut self, geometry: Geometry) -> Result<Geometry, KernelError> {
        self.refusals += 1;
        if !self.refusals.is_multiple_of(KEYS) && self.store.entries() < geometry.limit() {
            return Ok(geometry);
        }
        larger::<K>(geometry)
    }
}

fn larger<K: Kind>(geometry: Geometry) -> Result<Geometry, KernelError> {
    K::grown(geometry.limit(), geometry.limit() + 1)
}

#[cfg(test)]
mod tests;
