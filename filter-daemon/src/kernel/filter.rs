//! Applies changes to everything that filterd has in the kernel, in three phases.
//!
//! - *Plan*: tables that are too small are rebuilt, and the judge for them is loaded. No packet sees any of
//!   this.
//! - *Publish*: one store switches packets to the new judge, its tables and its settings.
//! - *Release*: entries that leave are removed last. Nothing can refuse a release. If packets in flight
//!   matter, a grace period passes between the last addition and the first removal.
//!
//! If any step is refused, the published additions are undone and fresh tables are discarded.
//!
//! `damage` detects changes that others made, and `upkeep` does the work that tables need between requests.
//! `aside` loads judges in the background, and `judges` records which ones there are. `links` handles
//! interfaces, and `look` answers questions.

mod aside;
mod damage;
mod judges;
mod links;
mod look;
mod upkeep;

use std::path::Path;

use filter_common::labels::Counters;
use filter_common::ports::Clause;
use filter_common::sets::{PerSet, SLOTS, SetName};

use judges::JudgeState;

use super::KernelError;
use super::broker::Broker;
use super::broker::request::Request;
use super::hook::Hook;
use super::lists::ListCounters;
use super::maps::Maps;
use super::needs::{Needs, Truth};
use super::overlap::Overlap;
use super::samples::{self, Samples};
use super::set::SourceSet;
use super::spec::{JudgeSpec, SetSpec};
use crate::blocklist::{Effects, Settings};

/// The tables of one daemon, and every kernel object that belongs to them.
pub struct Filter {
    maps: Maps,
    sets: PerSet<SourceSet>,
    /// Drops that each processor samples at most in a time window; 0 while no client watches.
    samples: u64,
    /// The clauses that `Truth` last returned.
    clauses: [Option<Clause>; SLOTS],
    overlap: Overlap,
    lists: ListCounters,
    /// The settings that the next publication applies.
    settings: Settings,
    judges: JudgeState,
    failed: BackgroundErrors,
}

/// Errors of work in the background. The next caller that wants such work gets them, so that it does not wait
/// as long as the kernel refuses. They occur with every `JudgeState`, because other work continues.
#[derive(Default)]
struct BackgroundErrors {
    /// Why the postponed plan could not be published.
    plan: Option<KernelError>,
    /// Why a larger table could not be published.
    tables: Option<KernelError>,
}

impl Filter {
    /// Opens the pins under `directory`, with the capabilities of this process.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        let mut filter = Broker::here(directory).map(Self::through)?;
        filter.expect(&[Hook::Xdp])?;
        Ok(filter)
    }

    /// Creates empty tables in the kernel that `broker` reaches. A filter that an earlier daemon left keeps
    /// working until these tables are filled and published.
    pub fn through(broker: Broker) -> Self {
        Self {
            maps: Maps::new(broker),
            sets: PerSet::from_fn(SourceSet::new),
            samples: 0,
            clauses: [None; SLOTS],
            overlap: Overlap::new(),
            lists: ListCounters::new(),
            settings: Settings::default(),
            judges: JudgeState::default(),
            failed: BackgroundErrors::default(),
        }
    }

    /// Plans room for `needs` and loads the judge for it; `truth` holds the targets wanted now. Nothing is
    /// visible before the next `apply`. If this fails, nothing has changed.
    pub fn reserve(&mut self, needs: &Needs, truth: &impl Truth) -> Result<(), KernelError> {
        let put_off = self.put_off();
        let planned = self.make_room(needs, truth);
        // The first judge is loaded after the tables are filled, because they may grow until then.
        let is_later = self.judges.published().is_none() || self.is_still(put_off.as_ref());
        let planned = planned.and_then(|()| if is_later { Ok(()) } else { self.prepare(&self.spec()) });
        self.or_discard(planned)
    }

    /// Carries effects out; when this returns, packets are judged by them. `truth` holds the targets wanted
    /// afterwards.
    ///
    /// All additions come before all removals, because one address may be covered by one target before and by
    /// another one after. An allowed target is allowed before it is blocked, and as long as it is blocked. A
    /// packet that passes both before and after the change is therefore never dropped in between.
    ///
    /// A caller that reports the end of all overlaps must know that every packet in flight has seen the
    /// removals.
    ///
    /// If this fails, nothing was removed, and [`withdraw`](Self::withdraw) undoes the rest. Removals alone
    /// never fail.
    pub fn apply(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        let switches =
            self.judges.published().is_some() && effects.settings.is_some_and(|new| new != self.settings);
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
            if switches || enters || !leaves || self.judges.published().is_none() {
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

    /// Does the same with new tables and one store. No packet sees additions without removals, or either of
    /// them under settings other than its own. Used on kernels without grace periods, and where settings
    /// change together with targets.
    pub fn replace_all(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        self.settings = effects.settings.unwrap_or(self.settings);
        let replaced = self.replace_tables(effects, truth);
        self.or_discard(replaced)
    }

    /// Undoes the additions of an `apply` that failed, after its caller has restored `truth` to the earlier
    /// state. Needs no other process, and cannot fail.
    pub fn withdraw(&mut self, effects: &Effects, truth: &impl Truth) {
        self.discard();
        self.clauses = *truth.clauses();
        for (name, set) in self.sets.iter_mut() {
            set.withdraw(&effects.sets[name], truth.of(name));
            set.relabel_in_place(&effects.sets[name], truth.of(name));
        }
    }

    /// Starts sampling drops into the ring that this returns.
    pub fn sample(&mut self) -> Result<Samples, KernelError> {
        if self.samples != 0 {
            // If a judge could not be replaced, it still writes to an earlier ring that has no reader.
            self.sample_no_more()?;
        }
        let ring = Samples::ask(self.maps.broker())?;
        self.sample_so_many(samples::budget())?;
        Ok(ring)
    }

    /// Stops sampling drops; no ring is written any more.
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

    /// The settings that packets are judged by now.
    pub fn settings(&self) -> Settings {
        self.judges.published().map_or_else(Settings::default, |published| published.settings)
    }

    fn make_room(&mut self, needs: &Needs, truth: &impl Truth) -> Result<(), KernelError> {
        self.clauses = *truth.clauses();
        self.make_labels(needs.counters, truth)?;
        self.make_room_in(needs, truth, SetName::blocks)?;
        // Maps that were ordered before labels were wanted have none.
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

    /// Plans list counters and labels for blocked targets, if they are wanted and missing.
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

    /// Adds every target of `effects`. Allowed targets come first, so that packets find them before the
    /// targets that block them. A postponed plan may stay postponed.
    fn enter(
        &mut self,
        effects: &Effects,
        truth: &impl Truth,
        put_off: Option<&JudgeSpec>,
    ) -> Result<(), KernelError> {
        self.make_labels(self.settings.counters, truth)?;
        self.enter_allowed(effects, truth)?;
        // Fresh tables must be visible before additions to tables that packets read. The first judge shows
        // all at once.
        self.clauses = *truth.clauses();
        let is_seen = |published: &JudgeSpec| {
            published.sets.allow == self.sets.allow.spec()
                && published.overlap == self.overlap.generation()
                && published.clauses == self.clauses_in_use()
        };
        if effects.blocks() && !self.is_still(put_off) && !self.judges.published().is_none_or(is_seen) {
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

    /// Loads this judge, unless it is published or loaded already.
    fn prepare(&mut self, spec: &JudgeSpec) -> Result<(), KernelError> {
        if !self.judges.has(spec) {
            self.maps.broker().order(Request::Prepare(spec.blueprint()))?;
            self.judges.set_ready(spec.clone());
        }
        Ok(())
    }

    /// Publishes the judge for the planned tables.
    fn publish(&mut self) -> Result<(), KernelError> {
        let spec = self.spec();
        if self.judges.published() == Some(&spec) {
            return Ok(());
        }
        self.prepare(&spec)?;
        self.maps.broker().order(Request::Publish)?;
        self.sets.iter_mut().for_each(|(_, set)| set.publish());
        self.overlap.publish();
        self.lists.publish();
        self.judges.publish(spec);
        self.failed.plan = None;
        Ok(())
    }

    fn or_discard<T>(&mut self, result: Result<T, KernelError>) -> Result<T, KernelError> {
        if result.is_err() {
            self.discard();
        }
        result
    }

    /// Discards every plan, so that only the published state remains.
    fn discard(&mut self) {
        self.settings = self.settings();
        let Self { sets, maps, judges, .. } = self;
        for (name, set) in sets.iter_mut() {
            set.discard(judges.published().map(|spec| spec.sets[name].clone()).unwrap_or_default(), maps);
        }
        self.overlap.discard(&mut self.maps);
        self.lists.discard(&mut self.maps);
        self.judges.discard();
    }

    fn spec(&self) -> JudgeSpec {
        self.spec_of(PerSet::from_fn(|name| self.sets[name].spec()))
    }

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

    /// The clauses of sets that contain something. The judge does not check ports for an empty set.
    fn clauses_in_use(&self) -> [Option<Clause>; SLOTS] {
        let mut clauses = self.clauses;
        for (clause, set) in clauses.iter_mut().zip(&self.sets.clauses) {
            *clause = clause.filter(|_| !set.spec().is_off());
        }
        clauses
    }
}
