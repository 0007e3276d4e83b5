//! The table of one family: room for what comes, by a larger table made aside or at once, and another key where entries
//! crowd under the one they have.

use filter_common::cuckoo::geometry::Geometry;

use super::growth::{Growth, NotMade};
use super::kind::{Entry, Key, Kind};
use super::maps::Maps;
use super::needs::SixTargets;
use super::store::Store;
use super::{KernelError, Occupancy};

/// The part of its limit by which a table may exceed it for a while: far below the first refusal at any geometry.
const MARGIN: u64 = 64;

/// And this many at least, as come one by one until the larger table of a small one is there. Where there is no place for one of
/// them, whoever brings it waits, as he would without.
const FEW: u64 = 32;

/// How many keys are tried before a table that refuses below its limit is made larger: one key in some hundred refuses.
const KEYS: u32 = 3;

/// The table of one family, and the larger one that is being made aside.
pub struct Family<K: Kind> {
    /// The tables in the kernel.
    pub store: Store<K>,
    growth: Option<Growth<K>>,
    /// How many keys have refused since a table was published.
    refusals: u32,
}

impl<K: Kind> Family<K> {
    /// Nothing in `store` yet.
    pub const fn new(store: Store<K>) -> Self {
        Self { store, growth: None, refusals: 0 }
    }

    /// Is there room for so many?
    pub fn has_room(&self, entries: u64) -> bool {
        entries <= self.store.limit()
    }

    /// Is a larger table being made aside?
    pub const fn is_growing(&self) -> bool {
        self.growth.is_some()
    }

    /// In which geometry?
    pub fn growing_to(&self) -> Option<Geometry> {
        self.growth.as_ref().map(|growth| growth.kind().geometry())
    }

    /// What a judge must know of the larger table, if that could take its place now.
    pub fn filled(&self) -> Option<&K> {
        self.growth.as_ref().filter(|growth| growth.is_filled()).map(Growth::kind)
    }

    /// Is there a table, and much more room in it than so many take?
    pub fn is_roomy_for(&self, entries: u64) -> bool {
        !self.is_growing() && self.store.is_roomy_for(entries)
    }

    /// Makes room for so many. A few more than the limit may come in while a larger table is made aside; for more of them
    /// the larger one is waited for.
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

    /// Begins to make a table for so many aside, if the one there is is too small; where there is none, only a large one:
    /// a small one is made at once by whoever needs it. True if one is being made then.
    pub fn grow_aside(&mut self, entries: u64, maps: &mut Maps) -> Result<bool, KernelError> {
        if self.has_room(entries) || self.store.has_fresh() {
            return Ok(false);
        }
        if self.growth.is_none() {
            self.begin_growth(K::grown(self.store.limit(), entries)?, maps)?;
        }
        Ok(self.is_growing())
    }

    /// Does what is due for the larger table. If the caller has found it `filled`, it is put beside the one in use. A table that
    /// was filled since then waits for the next step: the caller had no judge loaded for it.
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

    /// Lets an entry in, unless it is there. Where there is neither a path nor room in the stash, the table is made anew.
    pub fn enter(
        &mut self,
        entry_in: impl Fn(&K) -> Entry<K>,
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

    /// Lets so many entries in at once; the same holds.
    pub fn enter_all(
        &mut self,
        entry_in: impl Fn(&K, usize) -> Entry<K>,
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

    /// Replaces the label of an entry, wherever it is.
    pub fn relabel(&mut self, entry_in: impl Fn(&K) -> Entry<K>) {
        self.store.relabel(&entry_in);
        self.growth.iter_mut().for_each(|growth| growth.relabelled(&entry_in));
    }

    /// Takes a key out, wherever it is.
    pub fn leave(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        self.store.leave(&key_in);
        self.growth.iter_mut().for_each(|growth| growth.left(&key_in));
    }

    /// Makes the table anew in this geometry, or in a larger one where several keys refuse, or where more come than it is
    /// for.
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

    /// Makes the table that is in use anew as it is, unless a fresh one is there.
    pub fn refresh(&mut self, maps: &mut Maps, wanted: &impl SixTargets) -> Result<(), KernelError> {
        match self.store.geometry() {
            Some(geometry) if !self.store.has_fresh() => self.rebuild(geometry, maps, wanted),
            Some(_) | None => Ok(()),
        }
    }

    /// Makes the table anew as it is, even if it is fresh.
    pub fn make_anew(&mut self, maps: &mut Maps, wanted: &impl SixTargets) -> Result<(), KernelError> {
        self.store.geometry().map_or(Ok(()), |geometry| self.rebuild(geometry, maps, wanted))
    }

    /// Plans that there is no table.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.drop_growth(maps);
        self.store.drop_next(maps);
    }

    /// Forgets what is fresh. A larger table in the making is no part of any plan, and goes on.
    pub fn discard(&mut self, maps: &mut Maps) {
        self.refusals = 0;
        self.store.discard(maps);
    }

    /// What is fresh has been published.
    pub fn publish(&mut self) {
        self.refusals = 0;
        self.store.publish();
    }

    /// Should those who add many entries wait for a grace period first?
    pub fn is_crowded(&self) -> bool {
        self.store.current_live().is_some_and(|live| live.is_crowded())
    }

    /// Are entries on the move, or waiting to be?
    pub fn is_unsettled(&self) -> bool {
        self.store.current_live().is_some_and(|live| live.is_unsettled())
    }

    /// How full it is.
    pub fn occupancy(&self) -> Occupancy {
        self.store.occupancy()
    }

    /// Those who wait in the stash, and for whom no batch can make room, get a table with room for them.
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

    /// Puts the larger table beside the one in use, if one is in the making; waits until it is filled.
    fn end_growth(&mut self, maps: &mut Maps, wanted: &impl SixTargets) -> Result<(), KernelError> {
        match self.finish_growth(maps, wanted)? {
            None => Ok(()),
            Some(refused) => {
                let geometry = self.after_refusal_of(refused)?;
                self.rebuild(geometry, maps, wanted)
            }
        }
    }

    /// Tells the geometry, if there was no room in it under the key chosen.
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
                    NotMade::Full => Ok(Some(kind.geometry())),
                    NotMade::Refused(error) => Err(error),
                }
            }
        }
    }

    fn drop_growth(&mut self, maps: &mut Maps) {
        if let Some(growth) = self.growth.take() {
            self.store.forget(growth.kind(), maps);
        }
    }

    /// The geometry to try next when the newest table has refused an entry.
    fn after_refusal(&mut self) -> Result<Geometry, KernelError> {
        match self.store.geometry() {
            Some(geometry) => self.after_refusal_of(geometry),
            None => K::geometry_for(1),
        }
    }

    /// The same again, under another key; when some have refused, or it is full, a larger one.
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
