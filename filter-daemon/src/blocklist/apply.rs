//! Changes made true: each tells what it means for the filter, what truly changed, and how it is undone.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use filter_common::target::Target;

use super::undo::Step;
use super::{
    Blocklist, Change, Claim, Effects, From, List, ListId, Origin, Polarity, Reach, Record, Settings,
    Targets, Timestamp, TooManyLists, Undo, Want,
};

/// What a change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// What it means for the filter.
    pub effects: Effects,
    /// What truly changed of lists that the journal keeps.
    pub records: Vec<Record>,
    /// How many of the targets it names changed anything.
    pub changed: u64,
    /// The lists in which it changed anything, by name: one on which nothing is left may be forgotten at once.
    pub lists: BTreeSet<Arc<str>>,
    /// How it is undone.
    pub undo: Undo,
}

/// Why a change cannot be made. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There are as many live lists as there may be.
    #[error("there are as many live lists as there may be (1,000)")]
    TooManyLists,
    /// Nobody has made a list of this name.
    #[error("no such list: {0}")]
    NoSuchList(Arc<str>),
    /// The list of this name blocks, where it is to allow, or the reverse.
    #[error("list \"{name}\" is of the other kind")]
    OtherPolarity {
        /// Its name.
        name: Arc<str>,
        /// What it does.
        is: Polarity,
    },
    /// The list comes from elsewhere, and is changed there.
    #[error("list \"{name}\" is defined in the configuration")]
    BelongsElsewhere {
        /// Its name.
        name: Arc<str>,
        /// Where it comes from.
        origin: Origin,
    },
}

impl std::convert::From<TooManyLists> for Refusal {
    fn from(_: TooManyLists) -> Self {
        Self::TooManyLists
    }
}

impl Blocklist {
    /// Makes a change at `now`. If it is refused, nothing has changed.
    pub fn apply(&mut self, change: &Change, now: Timestamp) -> Result<Applied, Refusal> {
        let mut applied = self.apply_to_sides(change, now)?;
        let lists: BTreeSet<ListId> = applied.undo.lists().collect();
        applied.lists = lists.into_iter().map(|list| self.lists.get(list).name.clone()).collect();
        if let Change::LookForOverlap = change {
            applied.effects.overlaps = self.look_for_overlap();
        } else {
            applied.effects.balance();
            self.note_overlap(&mut applied.effects);
        }
        for (name, set) in applied.effects.sets.iter_mut() {
            let side = self.side(name);
            set.note_relabelled(|target| side.label_of(target));
        }
        Ok(applied)
    }

    fn apply_to_sides(&mut self, change: &Change, now: Timestamp) -> Result<Applied, Refusal> {
        match change {
            // A list on which nothing would be is not made.
            Change::Want(want) if want.targets.is_empty() => Ok(Applied::default()),
            Change::Want(Want { list, origin, polarity, until, shorten, note, by, targets }) => {
                let list = self.list_for(list, *origin, *polarity, now)?;
                let by = by.clone().map(|by| self.sides[self.lists.get(list).set()].registry.shared(by));
                let claim = Claim {
                    list,
                    since: now,
                    or_before: false,
                    until: *until,
                    note: note.clone(),
                    by,
                    reach: Reach::AS_GIVEN,
                };
                if *shorten {
                    return Ok(self.want_exactly(&claim, targets));
                }
                Ok(self.want(&claim, targets))
            }
            Change::Release { from, targets } => {
                let from = self.lists_of(from)?;
                Ok(self.release(targets, &from))
            }
            Change::Expire { polarity, most } => Ok(self.expire(*polarity, now, *most)),
            Change::Reach { list, targets } => Ok(self.reach_anew(self.list_named(list)?, targets)),
            Change::LookForOverlap => Ok(Applied::default()),
            Change::Relabel => Ok(self.relabel_page()),
            Change::Settings(settings) => {
                Ok(self.set(Settings { paused: self.settings.paused, ..*settings }))
            }
            Change::Pause(paused) => Ok(self.set(Settings { paused: *paused, ..self.settings })),
            Change::Undo(undo) => Ok(self.undo(undo)),
        }
    }

    /// Undoes what was applied just now, when it was carried no further.
    pub fn take_back(&mut self, applied: &Applied, settings: Settings) {
        self.undo(&applied.undo);
        self.settings = settings;
    }

    /// Forgets those of the lists that a change was about on which nothing is any more, unless the configuration names
    /// them. Only when nobody will want the change undone.
    pub fn forget_empty_lists(&mut self, applied: &Applied) {
        self.lists.forget_empty(applied.undo.lists());
    }

    fn want(&mut self, claim: &Claim, targets: &Targets) -> Applied {
        let (mut applied, mut changed) = (Applied::default(), Targets::default());
        self.side_of(claim.list).prefetch(targets);
        let is_row_new = self.extend_row(&targets.nets64, claim, &mut applied.effects);
        let left = if is_row_new {
            applied.undo.note_row(&targets.nets64, claim.list, claim);
            changed.nets64.clone_from(&targets.nets64);
            targets.but_nets64()
        } else {
            Cow::Borrowed(targets)
        };
        for target in left.iter() {
            if let Some((after, before)) = self.extend(target, claim, &mut applied.effects) {
                applied.undo.note(target, claim.list, before, Some(after));
                changed.push(target);
            }
        }
        applied.changed = changed.len() as u64;
        let list = self.lists.get(claim.list);
        if list.origin.is_live() && !changed.is_empty() {
            let (list, polarity) = (list.name.clone(), list.polarity);
            let (Claim { since, until, note, by, .. }, targets) = (claim.clone(), changed);
            applied.records.push(Record::Want { list, polarity, since, until, note, by, targets });
        }
        applied
    }

    /// What is wanted for longer is recorded as released and wanted anew: the journal, too, only extends.
    fn want_exactly(&mut self, claim: &Claim, targets: &Targets) -> Applied {
        let mut applied = Applied::default();
        self.side_of(claim.list).prefetch(targets);
        for target in targets.iter() {
            let known = self.claim_of(target, claim.list).cloned();
            let claim = self.reaching(claim, target);
            let after = match &known {
                Some(known) => Claim { until: claim.until, ..known.extended_by(claim.clone()) },
                None => claim.clone(),
            };
            if known.as_ref() != Some(&after) {
                self.make(target, claim.list, Some(after), &mut applied);
                applied.changed += 1;
            }
        }
        applied.records = self.releases(&applied.undo);
        applied.records.extend(self.wants(&applied.undo));
        applied
    }

    /// The journal keeps what was given, so there is nothing to tell it.
    fn reach_anew(&mut self, list: ListId, targets: &Targets) -> Applied {
        let mut applied = Applied::default();
        for target in targets.iter() {
            if let Some(claim) = self.reaching_anew(target, list) {
                self.make(target, list, Some(claim), &mut applied);
            }
        }
        applied
    }

    fn release(&mut self, targets: &Targets, from: &[ListId]) -> Applied {
        let mut applied = Applied::default();
        // The lists of one call are all on one side.
        let Some(set) = from.first().map(|list| self.lists.get(*list).set()) else { return applied };
        self.side(set).prefetch(targets);
        for target in targets.iter() {
            let holders = self.holders(set, target).into_iter();
            let holders: Vec<_> = holders.filter(|list| from.binary_search(list).is_ok()).collect();
            holders.iter().for_each(|list| self.make(target, *list, None, &mut applied));
            applied.changed += u64::from(!holders.is_empty());
        }
        applied.records = self.releases(&applied.undo);
        applied
    }

    /// Nothing of it is recorded: deadlines are absolute, so what is over now is over when the journal is read, too.
    fn expire(&mut self, polarity: Polarity, now: Timestamp, most: usize) -> Applied {
        let mut applied = Applied::default();
        for _ in 0..most {
            let Some((target, list)) = self.first_over(polarity, now) else { break };
            self.make(target, list, None, &mut applied);
            self.lists.spend(list, target);
            applied.changed += 1;
        }
        applied
    }

    fn set(&mut self, settings: Settings) -> Applied {
        let is_new = std::mem::replace(&mut self.settings, settings) != settings;
        let effects = Effects { settings: is_new.then_some(settings), ..Effects::default() };
        Applied { effects, changed: is_new.into(), ..Applied::default() }
    }

    /// What somebody else has changed since is theirs, and stays.
    fn undo(&mut self, undo: &Undo) -> Applied {
        let mut applied = Applied::default();
        for Step { list, before, after, targets } in undo.backwards() {
            if !self.lists.has(*list) {
                continue;
            }
            for target in targets.iter() {
                if is_the_same(self.claim_of(target, *list), after.as_ref()) {
                    self.make(target, *list, before.clone(), &mut applied);
                    applied.changed += 1;
                }
            }
        }
        applied.records = self.releases(&applied.undo);
        applied.records.extend(self.wants(&applied.undo));
        applied
    }

    fn make(&mut self, target: Target, list: ListId, claim: Option<Claim>, applied: &mut Applied) {
        let before = self.exchange(target, list, claim.clone(), &mut applied.effects);
        applied.undo.note(target, list, before, claim);
    }

    /// Each live list in `done` releases its targets: what is said anew of them stands behind that.
    fn releases(&self, done: &Undo) -> Vec<Record> {
        let live = done.backwards().filter(|step| self.lists.get(step.list).origin.is_live());
        live.filter(|step| step.before.is_some())
            .map(|step| {
                let mut targets = step.targets.clone();
                targets.sort();
                Record::Release { list: self.lists.get(step.list).name.clone(), targets }
            })
            .collect()
    }

    fn wants<'a>(&'a self, done: &'a Undo) -> impl Iterator<Item = Record> + 'a {
        let live = done.backwards().filter(|step| self.lists.get(step.list).origin.is_live());
        live.filter_map(|step| {
            let Claim { list, since, until, note, by, .. } = step.after.clone()?;
            let List { name, polarity, .. } = self.lists.get(list);
            let (list, polarity, targets) = (name.clone(), *polarity, step.targets.clone());
            Some(Record::Want { list, polarity, since, until, note, by, targets })
        })
    }

    fn list_for(
        &mut self,
        name: &str,
        origin: Origin,
        polarity: Polarity,
        now: Timestamp,
    ) -> Result<ListId, Refusal> {
        match self.lists.find(name) {
            Some(id) => self.must_be_of(id, origin, polarity).map(|()| id),
            None if origin.is_live() && self.lists.are_full() => Err(Refusal::TooManyLists),
            None => Ok(self.make_list(name, origin, polarity, now)?),
        }
    }

    fn must_be_of(&self, id: ListId, origin: Origin, polarity: Polarity) -> Result<(), Refusal> {
        let list = self.lists.get(id);
        if list.origin != origin {
            return Err(Refusal::BelongsElsewhere { name: list.name.clone(), origin: list.origin });
        }
        if list.polarity != polarity {
            return Err(Refusal::OtherPolarity { name: list.name.clone(), is: list.polarity });
        }
        Ok(())
    }

    pub(super) fn lists_of(&self, from: &From) -> Result<Vec<ListId>, Refusal> {
        match from {
            From::List(name) => Ok(vec![self.list_named(name)?]),
            From::EveryLiveList(polarity) => Ok(self.lists.live(*polarity).collect()),
        }
    }

    fn list_named(&self, name: &Arc<str>) -> Result<ListId, Refusal> {
        self.lists.find(name).ok_or_else(|| Refusal::NoSuchList(name.clone()))
    }
}

/// How far it reaches is the list's, and may have changed since.
fn is_the_same(one: Option<&Claim>, other: Option<&Claim>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.says_what(other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}
