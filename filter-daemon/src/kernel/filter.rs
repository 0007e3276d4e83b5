//! Everything of ours in the kernel, as one thing: a change is planned, published by one store, and what leaves is released last.
//!
//! *Plan*: what is too small is made anew beside what is in use, and the judge for it is loaded; no packet sees any of it.
//! *Publish*: one store lets them meet the new judge, its tables and its settings. Then, a grace period after the last
//! addition where packets in flight matter, what leaves is *released*, which nothing can refuse. A refusal at any step
//! puts back what was published, and drops what is fresh. (`damage` is what others have done to them, `upkeep` is what the tables need in between, `aside` the judges
//! that nobody waits for, `links` the interfaces, `look` the questions.)

mod aside;
mod damage;
mod links;
mod look;
mod upkeep;

use std::path::Path;

use filter_common::labels::Counters;
use filter_common::ports::Clause;
use filter_common::sets::{PerSet, SLOTS, SetName};

use super::KernelError;
use super::broker::Broker;
use super::broker::request::Request;
use super::lists::ListCounters;
use super::maps::Maps;
use super::needs::{Needs, Truth};
use super::overlap::Overlap;
use super::samples::{self, Samples};
use super::set::Set;
use super::spec::{JudgeSpec, SetSpec};
use crate::blocklist::{Effects, Settings};

/// The tables of one daemon, and everything of the kernel's that belongs to them.
pub struct Filter {
    maps: Maps,
    sets: PerSet<Set>,
    /// Of drops so many are told in full, of each processor in a window; 0 while nobody watches.
    samples: u64,
    /// What the truth last said of clauses.
    clauses: [Option<Clause>; SLOTS],
    overlap: Overlap,
    lists: ListCounters,
    /// How packets are to be judged from the next publication on.
    settings: Settings,
    published: Option<JudgeSpec>,
    /// The judge that is loaded, and not published yet.
    ready: Option<JudgeSpec>,
    /// The judge that was first asked for aside, for larger tables that wait for it to take their places.
    foreseen: Option<(JudgeSpec, usize)>,
    /// The judge that is being loaded aside for what is planned, which is put off until then.
    awaited: Option<JudgeSpec>,
    /// Why what was put off could not be published.
    refused: Option<KernelError>,
    /// Why a larger table that had been made aside could not be published.
    in_vain: Option<KernelError>,
}

impl Filter {
    /// Opens the pins under `directory`, with the capabilities of this process.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        Broker::here(directory).map(Self::through)
    }

    /// Tables in a kernel that `broker` holds. A filter that an earlier daemon left at work goes on until these tables have
    /// been filled and published.
    pub fn through(broker: Broker) -> Self {
        Self {
            maps: Maps::new(broker),
            sets: PerSet::from_fn(Set::new),
            samples: 0,
            clauses: [None; SLOTS],
            overlap: Overlap::new(),
            lists: ListCounters::new(),
            settings: Settings::default(),
            published: None,
            ready: None,
            foreseen: None,
            awaited: None,
            refused: None,
            in_vain: None,
        }
    }

    /// Plans room for `needs`, and loads the judge for it; `truth` is what is wanted now. Nothing is visible before the
    /// next `apply`; if it fails, everything is as before.
    pub fn reserve(&mut self, needs: &Needs, truth: &impl Truth) -> Result<(), KernelError> {
        let put_off = self.put_off();
        let planned = self.make_room(needs, truth);
        // The first judge is loaded when everything is in the tables, which may grow until then.
        let is_later = self.published.is_none() || self.is_still(put_off.as_ref());
        let planned = planned.and_then(|()| if is_later { Ok(()) } else { self.prepare() });
        self.or_discard(planned)
    }

    /// Carries effects out; packets are judged by them when this returns. `truth` is what is wanted from then on. Whoever
    /// enters is in before anybody leaves: an address may be covered by one target first and by another then. And whoever
    /// is allowed is so before he is blocked, and as long as he is: nothing is dropped that passed before and passes then.
    ///
    /// Who says that nothing overlaps any more knows that every packet in flight has seen what left.
    ///
    /// If it fails, nobody has left, and [`withdraw`](Self::withdraw) undoes the rest. Leaving alone never fails.
    pub fn apply(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        let switches = self.published.is_some() && effects.settings.is_some_and(|new| new != self.settings);
        if switches && effects.changes_sets() {
            return self.replace_all(effects, truth);
        }
        self.settings = effects.settings.unwrap_or(self.settings);
        let put_off = self.put_off().filter(|_| !switches && self.does_without_plan(effects));
        let entered = self.enter(effects, truth, put_off.as_ref());
        let entered =
            entered.and_then(|()| if self.is_still(put_off.as_ref()) { Ok(()) } else { self.publish() });
        if let Err(error) = self.or_discard(entered) {
            let changes = || effects.sets.iter().map(|(_, set)| set);
            let enters = changes().any(|set| !set.entered.is_empty()) || effects.overlaps == Some(true);
            let leaves = changes().any(|set| !set.left.is_empty());
            if switches || enters || !leaves || self.published.is_none() {
                return Err(error);
            }
            tracing::warn!("planned changes are postponed: {error}");
        }
        self.sets.iter_mut().for_each(|(name, set)| set.leave(&effects.sets[name], truth.of(name)));
        if effects.overlaps == Some(false) {
            self.overlap.switch(false);
        }
        Ok(())
    }

    /// The same by tables made anew and one store: no packet meets what enters without what leaves, or either under other
    /// settings than its own. For kernels without grace periods, and where settings change with the targets.
    pub fn replace_all(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        self.settings = effects.settings.unwrap_or(self.settings);
        let replaced = self.replace_tables(effects, truth);
        self.or_discard(replaced)
    }

    /// Undoes what an `apply` that failed has done already, after its caller has undone the truth; `truth` is what was
    /// wanted before and is again. Needs nothing of anybody, and cannot fail.
    pub fn withdraw(&mut self, effects: &Effects, truth: &impl Truth) {
        self.discard();
        self.clauses = *truth.clauses();
        for (name, set) in self.sets.iter_mut() {
            set.withdraw(&effects.sets[name], truth.of(name));
            set.relabel_in_place(&effects.sets[name], truth.of(name));
        }
    }

    /// From now on some drops are told in full, in the ring that this gives.
    pub fn sample(&mut self) -> Result<Samples, KernelError> {
        if self.samples != 0 {
            // A judge that could not be replaced writes to a ring that nobody reads any more.
            self.sample_no_more()?;
        }
        let ring = Samples::ask(self.maps.broker())?;
        self.sample_so_many(samples::budget())?;
        Ok(ring)
    }

    /// From now on none is.
    pub fn sample_no_more(&mut self) -> Result<(), KernelError> {
        self.sample_so_many(0)
    }

    fn sample_so_many(&mut self, budget: u64) -> Result<(), KernelError> {
        let before = std::mem::replace(&mut self.samples, budget);
        let published = self.publish();
        if published.is_err() {
            self.samples = before;
        }
        self.or_discard(published)
    }

    /// How packets are judged right now, whatever is listed.
    pub fn settings(&self) -> Settings {
        self.published.as_ref().map_or_else(Settings::default, |published| published.settings)
    }

    fn make_room(&mut self, needs: &Needs, truth: &impl Truth) -> Result<(), KernelError> {
        self.clauses = *truth.clauses();
        self.make_labels(needs.counters, truth)?;
        self.make_room_in(needs, truth, SetName::blocks)?;
        // What was begun before labels were wanted has none.
        self.make_labels(needs.counters, truth)?;
        if !needs.sets.allow.is_empty() {
            self.overlap.make_any(&mut self.maps)?;
        }
        self.make_room_in(needs, truth, |name| !name.blocks())
    }

    fn make_room_in(
        &mut self,
        needs: &Needs,
        truth: &impl Truth,
        is_meant: impl Fn(SetName) -> bool,
    ) -> Result<(), KernelError> {
        let Self { sets, maps, .. } = self;
        let mut meant = sets.iter_mut().filter(|(name, _)| is_meant(*name));
        meant.try_for_each(|(name, set)| set.make_room(&needs[name], maps, truth.of(name)))
    }

    /// Plans counters for lists and labels for what is blocked, if they are wanted and not there.
    fn make_labels(&mut self, counters: Counters, truth: &impl Truth) -> Result<(), KernelError> {
        if counters == Counters::Total {
            return Ok(());
        }
        self.maps.count(Counters::Lists);
        self.lists.make_any(&mut self.maps)?;
        let Self { sets, maps, .. } = self;
        let mut blocking = sets.iter_mut().filter(|(name, _)| name.blocks());
        blocking.try_for_each(|(name, set)| set.label_all(maps, truth.of(name)))
    }

    /// Lets everyone in that enters: whoever is allowed first, so that packets meet him when they meet what blocks him. What
    /// was put off may stay so.
    fn enter(
        &mut self,
        effects: &Effects,
        truth: &impl Truth,
        put_off: Option<&JudgeSpec>,
    ) -> Result<(), KernelError> {
        self.make_labels(self.settings.counters, truth)?;
        self.enter_allowed(effects, truth)?;
        // What is fresh must be seen before what enters the tables that packets read; the first judge shows all at once.
        self.clauses = *truth.clauses();
        let is_seen = |published: &JudgeSpec| {
            published.sets.allow == self.sets.allow.spec()
                && published.overlap == self.overlap.generation()
                && published.clauses == self.clauses_in_use()
        };
        if effects.blocks() && !self.is_still(put_off) && !self.published.as_ref().is_none_or(is_seen) {
            self.publish()?;
        }
        self.enter_blocked(effects, truth)
    }

    fn enter_blocked(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        let Self { sets, maps, .. } = self;
        for (name, set) in sets.iter_mut().filter(|(name, _)| name.blocks()) {
            set.enter(&effects.sets[name], maps, truth.of(name))?;
            set.relabel(&effects.sets[name], maps, truth.of(name));
        }
        Ok(())
    }

    fn enter_allowed(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        let overlaps = effects.overlaps == Some(true);
        if overlaps || !effects.sets.allow.entered.is_empty() {
            self.overlap.make_any(&mut self.maps)?;
        }
        let (allow, wanted) = (&mut self.sets.allow, truth.of(SetName::Allow));
        allow.enter(&effects.sets.allow, &mut self.maps, wanted)?;
        if overlaps {
            self.overlap.switch(true);
        }
        Ok(())
    }

    fn replace_tables(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        self.make_labels(self.settings.counters, truth)?;
        self.clauses = *truth.clauses();
        let Self { sets, maps, .. } = self;
        for (name, set) in sets.iter_mut() {
            set.refresh(&effects.sets[name], maps, truth.of(name))?;
        }
        self.enter_allowed(effects, truth)?;
        self.enter_blocked(effects, truth)?;
        self.sets.iter_mut().for_each(|(name, set)| set.leave_fresh(&effects.sets[name], truth.of(name)));
        self.publish()
    }

    /// Loads the judge for the tables as they are planned, if it is not the one at work.
    fn prepare(&mut self) -> Result<(), KernelError> {
        let spec = self.spec();
        if self.published.as_ref() != Some(&spec) && self.ready.as_ref() != Some(&spec) {
            self.maps.broker().order(Request::Prepare(spec.blueprint()))?;
            self.ready = Some(spec);
        }
        Ok(())
    }

    /// Lets packets meet the judge for the tables as they are planned.
    fn publish(&mut self) -> Result<(), KernelError> {
        self.prepare()?;
        let Some(spec) = self.ready.take().filter(|ready| self.published.as_ref() != Some(ready)) else {
            return Ok(());
        };
        self.maps.broker().order(Request::Publish)?;
        self.sets.iter_mut().for_each(|(_, set)| set.publish());
        self.overlap.publish();
        self.lists.publish();
        self.published = Some(spec);
        (self.awaited, self.refused) = (None, None);
        Ok(())
    }

    fn or_discard<T>(&mut self, result: Result<T, KernelError>) -> Result<T, KernelError> {
        if result.is_err() {
            self.discard();
        }
        result
    }

    /// Forgets every plan: what packets see is all there is.
    fn discard(&mut self) {
        self.settings = self.settings();
        let Self { sets, maps, published, .. } = self;
        for (name, set) in sets.iter_mut() {
            set.discard(published.as_ref().map(|spec| spec.sets[name].clone()).unwrap_or_default(), maps);
        }
        self.overlap.discard(&mut self.maps);
        self.lists.discard(&mut self.maps);
        (self.ready, self.awaited) = (None, None);
    }

    fn spec(&self) -> JudgeSpec {
        self.spec_of(PerSet::from_fn(|name| self.sets[name].spec()))
    }

    /// For these sets.
    fn spec_of(&self, sets: PerSet<SetSpec>) -> JudgeSpec {
        JudgeSpec {
            settings: self.settings,
            sets,
            clauses: self.clauses_in_use(),
            overlap: self.overlap.generation(),
            lists: self.lists.spec(),
            samples: self.samples,
        }
    }

    /// Of sets in which nothing is looked up nobody asks on which ports.
    fn clauses_in_use(&self) -> [Option<Clause>; SLOTS] {
        let mut clauses = self.clauses;
        for (clause, set) in clauses.iter_mut().zip(&self.sets.clauses) {
            *clause = clause.filter(|_| !set.spec().is_off());
        }
        clauses
    }
}
