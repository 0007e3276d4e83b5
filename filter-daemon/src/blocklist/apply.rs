//! Applies changes. Each result says which effects the change has on the filter, which records the journal
//! needs, and how to undo it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use filter_common::sets::SetName;
use filter_common::target::Target;

use super::undo::UndoStep;
use super::{
    Blocklist, Change, Claim, Effects, ListId, ListInfo, Origin, Polarity, Reach, Record, ReleaseFrom,
    Settings, Targets, Timestamp, TooManyLists, Undo, Want,
};

/// The result of one change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The effects on the filter.
    pub effects: Effects,
    /// The real changes to lists that the journal keeps.
    pub records: Vec<Record>,
    /// The number of named targets for which something changed.
    pub changed: u64,
    /// The names of the lists that changed. An empty one among them may be forgotten at once.
    pub lists: BTreeSet<Arc<str>>,
    pub undo: Undo,
    /// The list that was made, if the change asks for one.
    pub made: Option<ListId>,
}

/// Why a change is refused. A refused change changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The number of live lists has reached its limit.
    #[error("there are as many live lists as there may be (1,000)")]
    TooManyLists,
    /// No slot is free for the ports of a new list.
    #[error("there are as many different settings of ports as there may be")]
    TooManyClauses,
    /// There is no list of this name.
    #[error("no such list: {0}")]
    NoSuchList(Arc<str>),
    /// The list of this name blocks where the change allows, or the reverse.
    #[error("list \"{name}\" is of the other kind")]
    OtherPolarity {
        name: Arc<str>,
        /// Whether that list blocks or allows.
        is: Polarity,
    },
    /// The list belongs to another origin, which alone may change it.
    #[error("list \"{name}\" is defined in the configuration")]
    BelongsElsewhere {
        name: Arc<str>,
        /// The origin that the list belongs to.
        origin: Origin,
    },
}

impl std::convert::From<TooManyLists> for Refusal {
    fn from(_: TooManyLists) -> Self {
        Self::TooManyLists
    }
}

impl Blocklist {
    /// Applies a change at `now`. If it is refused, nothing has changed.
    pub fn apply(&mut self, change: &Change, now: Timestamp) -> Result<Applied, Refusal> {
        let mut applied = self.apply_to_sides(change, now)?;
        if change.is_silent() {
            return Ok(applied);
        }
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
            // A change without targets creates no list.
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
            Change::Make { name, origin, meaning } => {
                let made = Some(self.make_with_meaning(name, *origin, meaning, now)?);
                Ok(Applied { made, ..Applied::default() })
            }
            Change::Lists(change) => {
                self.change_lists(change, now);
                Ok(Applied::default())
            }
            Change::Replay(record) => Ok(self.replay(record, now).map(|()| Applied::default())?),
            Change::EndReplay => {
                self.expire_all(now);
                self.forget_all_empty_lists();
                Ok(Applied::default())
            }
            Change::MoveEntries(moves) => {
                Ok(Applied { records: self.move_entries(moves)?, ..Applied::default() })
            }
        }
    }

    /// Undoes a change that was applied just now and has gone no further.
    pub fn take_back(&mut self, applied: &Applied, settings: Settings) {
        self.undo(&applied.undo);
        self.settings = settings;
    }

    /// Forgets the lists of a change that are empty now, unless the configuration names them. Call it only
    /// when the change will not be undone any more.
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
        if list.origin.is_kept() && !changed.is_empty() {
            let (list, polarity) = (list.name.clone(), list.polarity);
            let (Claim { since, until, note, by, .. }, targets) = (claim.clone(), changed);
            applied.records.push(Record::Want { list, polarity, since, until, note, by, targets });
        }
        applied
    }

    /// A changed entry is recorded as a release and a new want, because a want in the journal only extends.
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

    /// The journal keeps targets as they were given, so this needs no record.
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
        let sets = self.sets_of_lists(from);
        sets.iter().for_each(|set| self.side(*set).prefetch(targets));
        for target in targets.iter() {
            let holders = sets.iter().flat_map(|set| self.holders(*set, target));
            let holders: Vec<_> = holders.filter(|list| from.binary_search(list).is_ok()).collect();
            holders.iter().for_each(|list| self.make(target, *list, None, &mut applied));
            applied.changed += u64::from(!holders.is_empty());
        }
        applied.records = self.releases(&applied.undo);
        applied
    }

    /// This needs no record: deadlines are absolute, so a replay of the journal expires the same entries.
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

    /// A claim that another change has modified since then stays as it is.
    fn undo(&mut self, undo: &Undo) -> Applied {
        let mut applied = Applied::default();
        for UndoStep { list, before, after, targets } in undo.backwards() {
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

    /// One record for each list of the journal in `done` that had a claim before. Records of the new claims follow
    /// them.
    fn releases(&self, done: &Undo) -> Vec<Record> {
        let kept = done.backwards().filter(|step| self.lists.get(step.list).origin.is_kept());
        kept.filter(|step| step.before.is_some())
            .map(|step| {
                let mut targets = step.targets.clone();
                targets.sort();
                Record::Release { list: self.lists.get(step.list).name.clone(), targets }
            })
            .collect()
    }

    fn wants<'a>(&'a self, done: &'a Undo) -> impl Iterator<Item = Record> + 'a {
        let kept = done.backwards().filter(|step| self.lists.get(step.list).origin.is_kept());
        kept.filter_map(|step| {
            let Claim { list, since, until, note, by, .. } = step.after.clone()?;
            let ListInfo { name, polarity, .. } = self.lists.get(list);
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
            None if self.lists.are_full(origin) => Err(Refusal::TooManyLists),
            None => self.make_kept_list(name, origin, polarity, now),
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

    pub(super) fn lists_of(&self, from: &ReleaseFrom) -> Result<Vec<ListId>, Refusal> {
        match from {
            ReleaseFrom::List(name) => Ok(vec![self.list_named(name)?]),
            ReleaseFrom::EveryLiveList(polarity) => Ok(self.lists.live(*polarity).collect()),
        }
    }

    /// The sets that contain these lists, each once.
    pub(super) fn sets_of_lists(&self, lists: &[ListId]) -> Vec<SetName> {
        let mut sets: Vec<_> = lists.iter().map(|list| self.lists.get(*list).set()).collect();
        sets.sort_unstable();
        sets.dedup();
        sets
    }

    fn list_named(&self, name: &Arc<str>) -> Result<ListId, Refusal> {
        self.lists.find(name).ok_or_else(|| Refusal::NoSuchList(name.clone()))
    }
}

/// Ignores the reach: it belongs to the list, and may have changed since then.
fn is_the_same(one: Option<&Claim>, other: Option<&Claim>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.says_what(other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}
