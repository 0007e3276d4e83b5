//! The one way in: a change is made true, carried to the kernel, and handed to the journal, in this order and together.
//!
//! A commit happens or it does not: what the kernel refuses leaves truth, kernel, settings and journal as they were.

use filter_common::sets::SetName;
use filter_common::target::Target;
use thiserror::Error;

use super::latencies::Latencies;
use super::needs;
use crate::blocklist::{
    Applied, Blocklist, Bookmark, Change, Effects, Polarity, Record, Refusal, Settings, Targets, Timestamp,
    Want,
};
use crate::clock;
use crate::kernel::{Filter, KernelError, Needs};
use crate::text::Explain;

/// Live targets that are joined in one step: it is a matter of memory only.
const JOINED: usize = 8192;

/// The truth and the kernel, kept in step, and what has truly changed since the journal was told.
pub struct Protection {
    blocklist: Blocklist,
    filter: Filter,
    records: Vec<Record>,
    latest: Latest,
    latencies: Latencies,
}

/// The numbers of the latest commits of each kind: what packets in flight may not have seen yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latest {
    /// Of all.
    pub commit: u64,
    /// By which something came to be blocked.
    pub entered: u64,
    /// By which something was blocked no longer.
    pub left: u64,
    /// By which something was allowed no longer.
    pub disallowed: u64,
    /// By which packets came to be judged more mildly: by settings that drop less, or because something was allowed.
    pub loosened: u64,
}

/// Why nothing was changed.
#[derive(Clone, Debug, Error)]
pub enum NotDone {
    /// The blocklist has no place for it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The kernel did not do it.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

impl Latest {
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

impl Explain for NotDone {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Kernel(error) => error.remedy(),
            Self::Refused(_) => None,
        }
    }
}

impl Protection {
    /// Makes the kernel, in which nothing of ours is published yet, what `blocklist` says.
    pub fn begin(blocklist: Blocklist, mut filter: Filter) -> Result<Self, KernelError> {
        // Nobody is there before: what is wanted comes by its effects.
        filter.reserve(&needs::anew(&blocklist), &Blocklist::default())?;
        filter.apply(&blocklist.everything(), &blocklist)?;
        let (latest, latencies) = (Latest::default(), Latencies::default());
        Ok(Self { blocklist, filter, records: Vec::new(), latest, latencies })
    }

    /// Blocks what `live` lists want, too, before anybody asks for anything: as if it had been so before.
    pub fn join(&mut self, live: &Blocklist, now: Timestamp) -> Result<(), NotDone> {
        let (mut effects, mut needs) = (Effects::default(), needs::of(&self.blocklist));
        for (name, set) in effects.sets.iter_mut() {
            let side = self.blocklist.side(name);
            let wanted = self.blocklist.in_effect_of(live, name);
            set.entered = wanted.iter().filter(|target| !side.contains(*target)).collect();
            needs::add(&mut needs, name, &set.entered);
        }
        self.filter.reserve(&needs, &self.blocklist)?;
        let mut from = Some(Bookmark::default());
        while let Some(begin) = from {
            let (records, next) = live.as_records(begin, JOINED, |_| true);
            for record in records {
                self.blocklist.replay(record, now).map_err(Refusal::from)?;
            }
            from = next;
        }
        effects.overlaps = Some(self.blocklist.overlaps());
        Ok(self.filter.apply(&effects, &self.blocklist)?)
    }

    /// Makes a change, whole or not at all: room first, then the truth, then the kernel, and what truly changed is for the
    /// journal. The next packet is judged by it when this returns.
    pub fn commit(&mut self, change: &Change, now: Timestamp) -> Result<Applied, NotDone> {
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

    /// How long commits took.
    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// What packets in flight may not have seen yet.
    pub fn latest(&self) -> Latest {
        self.latest
    }

    /// Makes many changes that become visible together, by one store: where the kernel has no grace periods, this is how
    /// nothing that is blocked before and after passes in between.
    pub fn replace(&mut self, changes: &[Change], now: Timestamp) -> Result<Vec<Applied>, NotDone> {
        let settings = self.blocklist.settings();
        let mut done = Vec::new();
        for change in changes {
            match self.blocklist.apply(change, now) {
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

    /// The truth, to ask.
    pub fn blocklist(&self) -> &Blocklist {
        &self.blocklist
    }

    /// The same, to note what is known of lists beside their entries.
    pub fn blocklist_mut(&mut self) -> &mut Blocklist {
        &mut self.blocklist
    }

    /// The kernel, to ask.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The same, for what changes nothing that packets are judged by.
    pub fn filter_mut(&mut self) -> &mut Filter {
        &mut self.filter
    }

    /// Both at once: tables are made anew out of what is wanted.
    pub fn parts(&mut self) -> (&mut Filter, &Blocklist) {
        (&mut self.filter, &self.blocklist)
    }

    /// What in the tables is not what was written there, if it is found: at the words before them, or among some of what is
    /// wanted, others at each `turn`.
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

    /// Makes every table anew, whatever stands in those there are.
    pub fn make_anew(&mut self) -> Result<(), KernelError> {
        let needs = needs::anew(&self.blocklist);
        self.filter.make_anew(&needs, &self.blocklist.everything(), &self.blocklist)
    }

    /// Ends the broker, and waits until it is gone. Gives back the truth.
    pub fn end(self) -> Blocklist {
        self.filter.end();
        self.blocklist
    }

    /// What the journal has not been told yet.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// What there must be room for once these have entered: counted exactly only where that matters.
    pub fn needs_with(&self, set: SetName, targets: &Targets) -> Needs {
        let most = needs::at_most(&self.blocklist, set, targets);
        if self.filter.has_room(&most) { most } else { needs::with(&self.blocklist, set, targets.iter()) }
    }

    fn make_room(&mut self, change: &Change) -> Result<(), KernelError> {
        let needs = match change {
            Change::Want(Want { list, polarity, targets, .. }) => self
                .needs_with(self.blocklist.set_of(list, *polarity), &self.blocklist.in_effect(list, targets)),
            Change::Reach { list, targets } => {
                let set = self.blocklist.set_of(list, Polarity::Block);
                self.needs_with(set, &self.blocklist.in_effect(list, targets))
            }
            Change::Undo(undo) => {
                let mut needs = needs::of(&self.blocklist);
                let lists = self.blocklist.lists();
                let entering: Vec<_> = undo.entering().filter(|(list, _)| lists.has(*list)).collect();
                if entering.is_empty() {
                    return Ok(());
                }
                for (list, targets) in entering {
                    let set = lists.get(list).set();
                    needs::add_exactly(&mut needs, &self.blocklist, set, targets.into_iter());
                }
                needs
            }
            Change::Release { .. } | Change::Expire { .. } | Change::Settings(_) => return Ok(()),
            Change::Pause(_) | Change::LookForOverlap | Change::Relabel => return Ok(()),
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
