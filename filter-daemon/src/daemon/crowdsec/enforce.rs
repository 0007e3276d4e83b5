//! Brings the differences between decisions and entries into the blocklist, page by page. What cannot be
//! enforced is left out and told, and the rest goes on.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use filter_common::target::Target;
use tracing::info;

use super::by;
use super::unwritten::UnwrittenEntries;
use crate::blocklist::{
    Change, ListSets, Origin, PAGE, Polarity, ReleaseFrom, Targets, Timestamp, Want, split,
};
use crate::clock;
use crate::command::render::figure::counted_as;
use crate::config::LapiConfig;
use crate::crowdsec::EntryChange;
use crate::daemon::core::Core;
use crate::text::{Explain, Explanation};

/// Small pages share a turn up to this many targets, which takes about a millisecond.
const TOGETHER: usize = 128;

/// Differences of all LAPIs, to be enforced.
#[derive(Default)]
pub struct Enforcing {
    pages: VecDeque<Page>,
    /// The targets that enter each list, until there is room for them.
    entering: BTreeMap<Arc<str>, Targets>,
    /// How many more entries each LAPI may have.
    room: BTreeMap<String, u64>,
    refused: BTreeMap<String, RefusedEntries>,
    /// The entries of each LAPI that this turn has enforced.
    enforced: BTreeMap<String, u64>,
    unwritten: UnwrittenEntries,
    done: BTreeMap<String, EnforcedCounts>,
}

/// One change of the blocklist, and the differences that it makes good.
struct Page {
    /// The name of the LAPI; none if the configuration does not name it any more.
    source: Option<String>,
    change: Change,
    parts: Vec<EntryChange>,
    /// Whether these entries leave lists because lists with other ports have them now.
    has_moved: bool,
}

/// The order of changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// What leaves makes room.
    Leave,
    Enter,
    /// Lists with other ports have these entries now.
    LeaveOtherPorts,
}

/// What was done for one LAPI.
#[derive(Default)]
struct EnforcedCounts {
    entered: u64,
    left: u64,
}

/// Entries that could not be enforced, and why.
#[derive(Default)]
pub struct RefusedEntries {
    changes: Vec<EntryChange>,
    why: Option<Explanation>,
}

impl RefusedEntries {
    pub fn into_changes(self) -> Vec<EntryChange> {
        self.changes
    }

    pub fn count(&self) -> u64 {
        let wants = self.changes.iter().filter(|change| matches!(change, EntryChange::Want { .. }));
        wants.count() as u64
    }

    pub fn add(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.why = other.why.or(self.why.take());
    }

    /// The message and the remedy.
    pub fn told(&self) -> Explanation {
        let entries = counted_as(self.count(), ["entry is", "entries are"]);
        let why = self.why.clone().unwrap_or_default();
        Explanation { message: format!("{entries} not enforced: {}", why.message), remedy: why.remedy }
    }
}

impl Enforcing {
    /// No differences yet. Entries count as unwritten from when they are in force until the journal has them.
    pub fn new(unwritten: UnwrittenEntries) -> Self {
        Self { unwritten, ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Adds the differences of one LAPI, which may have `room` more entries.
    pub fn add(&mut self, config: &LapiConfig, changes: Vec<EntryChange>, room: u64) {
        let mut staged: Vec<_> =
            changes.into_iter().map(|change| (Stage::of(&change, config), change)).collect();
        let moved = staged.iter().filter(|(stage, _)| *stage == Stage::LeaveOtherPorts).count();
        self.room.insert(config.name.clone(), room.saturating_add(moved as u64));
        // Entries with the same end and note share a page.
        staged.sort_by(|(stage, one), (other_stage, other)| {
            (stage, terms(one)).cmp(&(other_stage, terms(other)))
        });
        let (mut parts, mut of) = (Vec::<EntryChange>::new(), Stage::Leave);
        for (stage, change) in staged {
            let is_other = |last: &EntryChange| (of, terms(last)) != (stage, terms(&change));
            if parts.last().is_some_and(is_other) || parts.len() as u64 == PAGE {
                self.push(config, of, std::mem::take(&mut parts));
            }
            of = stage;
            if let EntryChange::Want { list, target, .. } = &change {
                self.entering.entry(list.clone()).or_default().push(*target);
            }
            parts.push(change);
        }
        self.push(config, of, parts);
        self.entering.values_mut().for_each(Targets::sort);
    }

    fn push(&mut self, config: &LapiConfig, stage: Stage, parts: Vec<EntryChange>) {
        let Some(first) = parts.first() else { return };
        let mut targets: Targets = parts.iter().map(target).collect();
        targets.sort();
        let change = match first {
            EntryChange::Want { list, until, note, .. } => Change::Want(Want {
                origin: Origin::Remote,
                until: Some(*until),
                shorten: true,
                note: Some(note.clone()),
                by: Some(by(&config.name)),
                ..Want::live(list.clone(), Polarity::Block, targets)
            }),
            EntryChange::Release { list, .. } => {
                Change::Release { from: ReleaseFrom::List(list.clone()), targets }
            }
        };
        let has_moved = stage == Stage::LeaveOtherPorts;
        self.pages.push_back(Page { source: Some(config.name.clone()), change, parts, has_moved });
    }

    /// Adds entries to release that belong to no LAPI any more: lists, and targets on them.
    pub fn release(&mut self, entries: impl Iterator<Item = (Arc<str>, Target)>) {
        let mut by_list: BTreeMap<Arc<str>, Vec<Target>> = BTreeMap::new();
        entries.for_each(|(list, target)| by_list.entry(list).or_default().push(target));
        for (list, targets) in &by_list {
            for page in targets.chunks(PAGE as usize) {
                let mut targets: Targets = page.iter().copied().collect();
                targets.sort();
                let change = Change::Release { from: ReleaseFrom::List(list.clone()), targets };
                self.pages.push_back(Page { source: None, change, parts: Vec::new(), has_moved: false });
            }
        }
    }

    /// The number of entries of this LAPI that are to be enforced still.
    pub fn pending(&self, name: &str) -> u64 {
        let pages = self.pages.iter().filter(|page| page.source.as_deref() == Some(name));
        let wants =
            pages.flat_map(|page| &page.parts).filter(|part| matches!(part, EntryChange::Want { .. }));
        wants.count() as u64
    }

    /// The entries that could not be enforced, by LAPI.
    pub fn into_refused(self) -> BTreeMap<String, RefusedEntries> {
        self.refused
    }

    /// Logs what changed, one line for each LAPI.
    pub fn tell_log(&self) {
        for (name, EnforcedCounts { entered, left }) in &self.done {
            if entered + left > 0 {
                info!(
                    watch.verb = "crowdsec",
                    watch.lists = name.as_str(),
                    entered,
                    left,
                    "decisions of CrowdSec \"{name}\""
                );
            }
        }
    }

    /// Enforces the next page, once there is room.
    pub fn page(&mut self, core: &mut Core) -> Option<ControlFlow<()>> {
        if !self.make_room(core) {
            return None;
        }
        let mut targets = 0;
        while targets < TOGETHER
            && let Some(page) = self.pages.pop_front()
        {
            targets += page.parts.len();
            self.enforce(page, core);
        }
        self.write(core);
        Some(if self.pages.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Whether there is room for all that enters. It is asked once for all, so that tables grow once.
    fn make_room(&mut self, core: &mut Core) -> bool {
        while let Some((list, targets)) = self.entering.first_key_value() {
            let blocklist = core.protection.blocklist();
            let sets: ListSets = blocklist.sets_of_remote(list);
            let all = blocklist.in_effect(list, targets);
            if !core.capacity.has_room(&mut core.protection, sets, &all) {
                return false;
            }
            self.entering.pop_first();
        }
        true
    }

    fn enforce(&mut self, page: Page, core: &mut Core) {
        let Page { source, change, parts: made_good, has_moved } = page;
        // Entries that cannot enter the new lists stay on the old ones.
        if has_moved && let Some(refused) = source.as_ref().and_then(|source| self.refused.get_mut(source)) {
            refused.changes.extend(made_good);
            return;
        }
        let Some(change) = self.limited(source.as_deref(), change, &made_good, core) else { return };
        match core.protection.commit(&change, clock::now()) {
            Ok(applied) => {
                let Some(source) = source else { return };
                if let Change::Want(want) = &change {
                    *self.enforced.entry(source.clone()).or_default() += want.targets.len() as u64;
                }
                let done = self.done.entry(source).or_default();
                let blocking = applied.effects.sets.blocking();
                for (_, set) in blocking {
                    done.entered += set.entered.len() as u64;
                    done.left += set.left.len() as u64;
                }
            }
            // A list whose last entry has expired is gone.
            Err(_) if matches!(change, Change::Release { .. }) => {}
            Err(error) => self.refuse(source, made_good, error.explain()),
        }
    }

    /// The change without the entries for which `max_entries` leaves no room.
    fn limited(
        &mut self,
        source: Option<&str>,
        change: Change,
        made_good: &[EntryChange],
        core: &Core,
    ) -> Option<Change> {
        let Some(room) = source.and_then(|source| self.room.get_mut(source)) else { return Some(change) };
        let blocklist = core.protection.blocklist();
        let Change::Want(want) = &change else {
            *room = room.saturating_add(made_good.len() as u64);
            return Some(change);
        };
        let list = blocklist.lists().find(&want.list);
        let is_new = |target: Target| list.is_none_or(|id| blocklist.times_of(target, id).is_none());
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for part in made_good {
            match room.checked_sub(u64::from(is_new(target(part)))) {
                Some(left) => {
                    *room = left;
                    kept.push(target(part));
                }
                None => left_out.push(part.clone()),
            }
        }
        if left_out.is_empty() {
            return Some(change);
        }
        let mut targets: Targets = kept.into_iter().collect();
        targets.sort();
        let limited = (!targets.is_empty()).then(|| Change::Want(Want { targets, ..want.clone() }));
        let why = Explanation::new(
            "there are more than `max_entries` allows",
            "if that is what you want, raise `max_entries` under `crowdsec:`, then run `filterd reload`",
        );
        self.refuse(source.map(str::to_owned), left_out, why);
        limited
    }

    /// Passes the records of this turn to the journal.
    fn write(&mut self, core: &mut Core) {
        let enforced = std::mem::take(&mut self.enforced);
        if !enforced.is_empty() {
            core.persistence.write_soon(core.protection.take_records());
            core.persistence.once_known(self.unwritten.add(enforced));
        }
    }

    fn refuse(&mut self, source: Option<String>, changes: Vec<EntryChange>, why: Explanation) {
        if let Some(source) = source {
            self.refused.entry(source).or_default().add(RefusedEntries { changes, why: Some(why) });
        }
    }
}

impl Stage {
    fn of(change: &EntryChange, config: &LapiConfig) -> Self {
        match change {
            EntryChange::Want { .. } => Self::Enter,
            EntryChange::Release { list, .. } if split(list).1 == config.ports => Self::Leave,
            EntryChange::Release { .. } => Self::LeaveOtherPorts,
        }
    }
}

/// Entries of one stage with equal terms can share a change.
fn terms(change: &EntryChange) -> (&str, Option<Timestamp>, Option<&str>) {
    match change {
        EntryChange::Release { list, .. } => (list, None, None),
        EntryChange::Want { list, until, note, .. } => (list, Some(*until), Some(note)),
    }
}

fn target(change: &EntryChange) -> Target {
    match change {
        EntryChange::Want { target, .. } | EntryChange::Release { target, .. } => *target,
    }
}
