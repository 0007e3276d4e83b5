//! Changes made true: each tells what it means for the filter, what truly changed, and how it is undone.

use std::sync::Arc;

use filter_common::target::Target;

use super::undo::Step;
use super::{
    Blocklist, Change, Claim, Effects, From, ListId, Origin, Record, SetEffects, Settings, Targets,
    Timestamp, TooManyLists, Undo,
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
    /// How it is undone.
    pub undo: Undo,
}

/// Why a change cannot be made. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There are as many lists as there may be.
    #[error("there are as many lists as there may be (1,000)")]
    TooManyLists,
    /// Nobody has made a list of this name.
    #[error("no such list: {0}")]
    NoSuchList(Arc<str>),
    /// The list comes from elsewhere, and is changed there.
    #[error("list {name} belongs to the configuration")]
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
        match change {
            // A list on which nothing would be is not made.
            Change::Want { targets, .. } if targets.is_empty() => Ok(Applied::default()),
            Change::Want { list, origin, until, shorten, note, targets } => {
                let list = self.list_for(list, *origin)?;
                let claim = Claim { list, since: now, until: *until, note: note.clone() };
                if *shorten {
                    return Ok(self.want_exactly(&claim, targets));
                }
                Ok(self.want(&claim, targets))
            }
            Change::Release { from, targets } => {
                let from = self.lists_of(from)?;
                Ok(self.release(targets, &from))
            }
            Change::Expire { most } => Ok(self.expire(now, *most)),
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
        self.prefetch(targets);
        for target in targets.iter() {
            if let Some((after, before)) = self.extend(target, claim, &mut applied.effects.block) {
                applied.undo.note(target, claim.list, before, Some(after));
                changed.push(target);
            }
        }
        applied.changed = changed.len() as u64;
        let list = self.lists.get(claim.list);
        if list.origin.is_live() && !changed.is_empty() {
            let (list, Claim { since, until, note, .. }) = (list.name.clone(), claim.clone());
            applied.records.push(Record::Want { list, since, until, note, targets: changed });
        }
        applied
    }

    /// What is wanted for longer is recorded as released and wanted anew: the journal, too, only extends.
    fn want_exactly(&mut self, claim: &Claim, targets: &Targets) -> Applied {
        let mut applied = Applied::default();
        self.prefetch(targets);
        for target in targets.iter() {
            let known = self.claim_of(target, claim.list).cloned();
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

    fn release(&mut self, targets: &Targets, from: &[ListId]) -> Applied {
        let mut applied = Applied::default();
        self.prefetch(targets);
        for target in targets.iter() {
            let holders = self.holders_among(target, from);
            holders.iter().for_each(|list| self.make(target, *list, None, &mut applied));
            applied.changed += u64::from(!holders.is_empty());
        }
        applied.records = self.releases(&applied.undo);
        applied
    }

    /// Nothing of it is recorded: deadlines are absolute, so what is over now is over when the journal is read, too.
    fn expire(&mut self, now: Timestamp, most: usize) -> Applied {
        let mut applied = Applied::default();
        for _ in 0..most {
            let Some((target, list)) = self.deadlines.first_over(now) else { break };
            self.make(target, list, None, &mut applied);
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
                if self.claim_of(target, *list) == after.as_ref() {
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
        let before = self.exchange(target, list, claim.clone(), &mut applied.effects.block);
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
            let Claim { list, since, until, note } = step.after.clone()?;
            let list = self.lists.get(list).name.clone();
            Some(Record::Want { list, since, until, note, targets: step.targets.clone() })
        })
    }

    fn list_for(&mut self, name: &str, origin: Origin) -> Result<ListId, Refusal> {
        match self.lists.find(name) {
            Some(id) => self.must_be_of(id, origin).map(|()| id),
            None => Ok(self.lists.make(name, origin)?),
        }
    }

    fn must_be_of(&self, id: ListId, origin: Origin) -> Result<(), Refusal> {
        let list = self.lists.get(id);
        if list.origin == origin {
            return Ok(());
        }
        Err(Refusal::BelongsElsewhere { name: list.name.clone(), origin: list.origin })
    }

    fn lists_of(&self, from: &From) -> Result<Vec<ListId>, Refusal> {
        match from {
            From::List(name) => {
                let id = self.lists.find(name).ok_or_else(|| Refusal::NoSuchList(name.clone()))?;
                Ok(vec![id])
            }
            From::EveryLiveList => Ok(self.lists.live().collect()),
        }
    }

    fn holders_among(&self, target: Target, lists: &[ListId]) -> Vec<ListId> {
        let holders = self.holders(target).into_iter();
        holders.filter(|list| lists.binary_search(list).is_ok()).collect()
    }
}

/// Nothing but effects is wanted of it.
impl std::convert::From<Applied> for SetEffects {
    fn from(applied: Applied) -> Self {
        applied.effects.block
    }
}
