//! The only way to change anything. A commit changes the blocklist, carries the effects to the kernel and
//! keeps records for the journal, in this order.
//!
//! A commit is all or nothing: if the kernel refuses it, blocklist, kernel, settings and journal stay
//! unchanged.

use filter_common::sets::SetName;
use filter_common::target::Target;
use thiserror::Error;

use super::latencies::Latencies;
use super::needs;
use crate::blocklist::{
    Applied, Blocklist, Bookmark, Change, Effects, ListSets, Polarity, Record, Refusal, Settings, Targets,
    Timestamp, Want,
};
use crate::clock;
use crate::kernel::{Filter, KernelError, Needs};
use crate::text::Explain;

/// How many live targets are joined in one step. This limits memory only.
const JOINED: usize = 8192;

/// The blocklist and the kernel tables, which always agree, and the changes that the journal has not received
/// yet.
pub struct Protection {
    blocklist: Blocklist,
    filter: Filter,
    records: Vec<Record>,
    latest: LatestCommits,
    latencies: Latencies,
}

/// The numbers of the latest commits of each kind. Packets in flight may not have seen them yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatestCommits {
    /// The latest commit of any kind.
    pub commit: u64,
    /// The latest commit that blocked a target.
    pub entered: u64,
    /// The latest commit that unblocked a target.
    pub left: u64,
    /// The latest commit after which a target was no longer allowed.
    pub disallowed: u64,
    /// The latest commit that made judging milder, by less strict settings or an allowed target.
    pub loosened: u64,
}

/// Why nothing was changed.
#[derive(Clone, Debug, Error)]
pub enum CommitError {
    /// The blocklist refused the change.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

impl LatestCommits {
    fn note(&mut self, effects: &Effects, before: Settings) {
        self.commit += 1;
        let before = before.unpaused().strictness();
        let loosens = effects.settings.is_some_and(|after| after.strictness() < before);
        let kinds = [
            (effects.blocks(), &mut self.entered),
            (effects.unblocks(), &mut self.left),
            (!effects.sets.allow.left.is_empty(), &mut self.disallowed),
            (loosens || !effects.sets.allow.entered.is_empty(), &mut self.loosened),
        ];
        kinds.into_iter().filter(|(is_so, _)| *is_so).for_each(|(_, latest)| *latest = self.commit);
    }
}

impl Explain for CommitError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Kernel(error) => error.remedy(),
            Self::Refused(_) => None,
        }
    }
}

impl Protection {
    /// Fills the kernel tables from `blocklist`. Nothing of this filter is published before.
    pub fn begin(blocklist: Blocklist, mut filter: Filter) -> Result<Self, KernelError> {
        // The earlier blocklist is empty: all targets are added by their effects.
        filter.reserve(&needs::anew(&blocklist), &Blocklist::default())?;
        filter.apply(&blocklist.everything(), &blocklist)?;
        let (latest, latencies) = (LatestCommits::default(), Latencies::default());
        Ok(Self { blocklist, filter, records: Vec::new(), latest, latencies })
    }

    /// Adds the entries of `live` lists before the first request is served. Writes no records.
    pub fn join(&mut self, live: &Blocklist, now: Timestamp) -> Result<(), CommitError> {
        let (mut effects, mut needs) = (Effects::default(), needs::of(&self.blocklist));
        for (name, set) in effects.sets.iter_mut() {
            let side = self.blocklist.side(name);
            let wanted = self.blocklist.in_effect_of(live, name);
            set.entered = wanted.iter().filter(|target| !side.contains(*target)).collect();
            needs::add(&mut needs, name.into(), &set.entered);
        }
        self.filter.reserve(&needs, &self.blocklist)?;
        let mut from = Some(Bookmark::default());
        while let Some(begin) = from {
            let (records, next) = live.as_records(begin, JOINED, |_| true);
            for record in records {
                self.blocklist.apply(&Change::Replay(record), now)?;
            }
            from = next;
        }
        effects.overlaps = Some(self.blocklist.overlaps());
        Ok(self.filter.apply(&effects, &self.blocklist)?)
    }

    /// Applies a change completely or not at all: makes room, changes the blocklist, then the kernel, and
    /// keeps the records. When this returns, the change applies to the next packet.
    pub fn commit(&mut self, change: &Change, now: Timestamp) -> Result<Applied, CommitError> {
        let begun = clock::instant();
        self.make_room(change)?;
        let settings = self.blocklist.settings();
        let mut applied = self.blocklist.apply(change, now)?;
        let carried = self.filter.apply(&applied.effects, &self.blocklist);
        if carried.is_err() {
            self.take_back(&applied, settings);
        }
        self.blocklist.forget_empty_lists(&applied);
        carried?;
        self.latest.note(&applied.effects, settings);
        self.latencies.note(begun.elapsed());
        self.records.append(&mut applied.records);
        Ok(applied)
    }

    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// The latest commits, which packets in flight may not have seen yet.
    pub fn latest(&self) -> LatestCommits {
        self.latest
    }

    /// Applies many changes, each as of its time, that become visible together, by one store. On kernels
    /// without grace periods, this ensures that a target blocked before and after never passes in between.
    pub fn replace(&mut self, changes: &[(Timestamp, Change)]) -> Result<Vec<Applied>, CommitError> {
        let settings = self.blocklist.settings();
        let mut done = Vec::new();
        for (since, change) in changes {
            match self.blocklist.apply(change, *since) {
                Ok(applied) => done.push(applied),
                Err(refusal) => {
                    self.take_all_back(&done, settings);
                    return Err(refusal.into());
                }
            }
        }
        let effects = Effects::of_all(done.iter().map(|applied| &applied.effects));
        if let Err(error) = self.filter.replace_all(&effects, &self.blocklist) {
            self.take_all_back(&done, settings);
            self.filter.withdraw(&effects, &self.blocklist);
            return Err(error.into());
        }
        self.records.extend(done.iter_mut().flat_map(|applied| applied.records.drain(..)));
        Ok(done)
    }

    pub fn blocklist(&self) -> &Blocklist {
        &self.blocklist
    }

    /// The blocklist, for [`ListChange`](crate::blocklist::ListChange)s alone: all other changes must reach the
    /// kernel, too.
    pub fn blocklist_mut(&mut self) -> &mut Blocklist {
        &mut self.blocklist
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The kernel tables, for actions that do not change how packets are judged.
    pub fn filter_mut(&mut self) -> &mut Filter {
        &mut self.filter
    }

    /// Both at once, because tables are rebuilt from the blocklist.
    pub fn parts(&mut self) -> (&mut Filter, &Blocklist) {
        (&mut self.filter, &self.blocklist)
    }

    /// Describes damage to the tables, if any is found. This checks the guard words of the tables and a
    /// sample of the wanted targets, a different one for each `turn`.
    pub fn damage(&self, turn: usize) -> Option<String> {
        let is_missed = |(name, target): &(SetName, Target)| !self.filter.holds(*name, *target);
        let sample = || {
            SetName::all()
                .flat_map(|name| self.blocklist.side(name).sample(turn).map(move |target| (name, target)))
        };
        self.filter.damage().or_else(|| {
            let (_, target) = sample().find(is_missed)?;
            Some(format!("{target} is wanted there, and is not found"))
        })
    }

    /// Rebuilds every table, even if the present tables are damaged.
    pub fn make_anew(&mut self) -> Result<(), KernelError> {
        let needs = needs::anew(&self.blocklist);
        self.filter.make_anew(&needs, &self.blocklist.everything(), &self.blocklist)
    }

    /// Ends the broker, waits for it, and returns the blocklist.
    pub fn end(self) -> Blocklist {
        self.filter.end();
        self.blocklist
    }

    /// Takes the records that the journal has not received yet.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// The room needed once these targets are added. The exact count is made only if the upper bound does not
    /// fit.
    pub fn needs_with(&self, sets: ListSets, targets: &Targets) -> Needs {
        let most = needs::at_most(&self.blocklist, sets, targets);
        if self.filter.has_room(&most) { most } else { needs::with(&self.blocklist, sets, targets.iter()) }
    }

    fn make_room(&mut self, change: &Change) -> Result<(), KernelError> {
        let needs = match change {
            Change::Want(Want { list, polarity, targets, .. }) => self.needs_with(
                self.blocklist.sets_of(list, *polarity),
                &self.blocklist.in_effect(list, targets),
            ),
            Change::Reach { list, targets } => {
                let sets = self.blocklist.sets_of(list, Polarity::Block);
                self.needs_with(sets, &self.blocklist.in_effect(list, targets))
            }
            Change::Undo(undo) => {
                let mut needs = needs::of(&self.blocklist);
                let lists = self.blocklist.lists();
                let entering: Vec<_> = undo.entering().filter(|(list, _)| lists.has(*list)).collect();
                if entering.is_empty() {
                    return Ok(());
                }
                for (list, targets) in entering {
                    let sets = lists.get(list).sets();
                    needs::add_exactly(&mut needs, &self.blocklist, sets, targets.into_iter());
                }
                needs
            }
            Change::Release { .. } | Change::Expire { .. } | Change::Settings(_) => return Ok(()),
            Change::Pause(_) | Change::LookForOverlap | Change::Relabel => return Ok(()),
            Change::Make { .. }
            | Change::Lists(_)
            | Change::Replay(_)
            | Change::EndReplay
            | Change::MoveEntries(_) => {
                return Ok(());
            }
        };
        self.filter.reserve(&needs, &self.blocklist)
    }

    fn take_back(&mut self, applied: &Applied, settings: Settings) {
        self.blocklist.take_back(applied, settings);
        self.filter.withdraw(&applied.effects, &self.blocklist);
    }

    fn take_all_back(&mut self, done: &[Applied], settings: Settings) {
        done.iter().rev().for_each(|applied| self.blocklist.take_back(applied, settings));
    }
}
