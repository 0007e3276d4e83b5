//! The decisions in force, and the entries that must change to enforce them.
//!
//! Several decisions can require the same entry. It lasts as long as the longest of them. Decisions that the
//! answers of LAPI no longer have end at their own deadline, or when two full answers lack them.

mod absence;
mod entries;
mod id;
mod marks;
mod origins;
mod scopes;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use filter_common::ports::Clause;
use filter_common::target::Target;

use super::{Decision, Scope, StreamAnswer};
use crate::blocklist::{Targets, Timestamp};
pub use absence::FullReport;
pub use entries::EntryChange;
use entries::{EntryKey, EntryTable, EntryTerms};
use id::DecisionId;
use marks::AbsenceMarks;
use origins::OriginTable;
use scopes::ScopeTable;

/// LAPI sends durations, so the end of a decision differs by some seconds from answer to answer. Ends that
/// differ by at most this are one end.
const SAME_END: u64 = 2;

/// The note of a restored entry that had none.
const UNKNOWN_NOTE: &str = "decided before filterd started";

/// All decisions of one LAPI.
#[derive(Debug)]
pub struct DecisionBook {
    decisions: HashMap<DecisionId, BookDecision>,
    /// The ends of all decisions.
    ends: BTreeSet<(Timestamp, DecisionId)>,
    entries: EntryTable,
    scopes: ScopeTable,
    origins: OriginTable,
    marks: AbsenceMarks,
    /// The number of entries that were restored so far.
    restored: u64,
    /// The number of restored entries whose decisions are not known yet.
    unknown: u64,
    /// The number of full answers so far.
    full_answers: u64,
    /// Whether a delta was taken since the last full answer.
    has_delta: bool,
}

/// A decision in force.
#[derive(Clone, Debug)]
struct BookDecision {
    /// The origin; none if the entry was restored.
    origin: Option<Arc<str>>,
    list: Arc<str>,
    scope: Scope,
    until: Timestamp,
    note: Arc<str>,
    /// Since when full answers lack it.
    absent_since: Option<Timestamp>,
    /// The number of full answers when it was last in an answer.
    seen: u64,
}

impl DecisionBook {
    /// A book without decisions, for the LAPI of this name. They block on these ports.
    #[must_use]
    pub fn new(source: &str, ports: Option<Clause>) -> Self {
        Self {
            decisions: HashMap::new(),
            ends: BTreeSet::new(),
            entries: EntryTable::default(),
            scopes: ScopeTable::default(),
            origins: OriginTable::new(source, ports),
            marks: AbsenceMarks::default(),
            restored: 0,
            unknown: 0,
            full_answers: 0,
            has_delta: false,
        }
    }

    /// Lets all decisions block on these ports. For that they move to other lists.
    pub fn set_ports(&mut self, ports: Option<Clause>) {
        if !self.origins.set_ports(ports) {
            return;
        }
        let ids: Vec<_> = self.decisions.keys().copied().collect();
        let removed: Vec<_> = ids.into_iter().filter_map(|id| Some((id, self.remove(id)?))).collect();
        for (id, decision) in removed {
            let list = self.origins.in_place_of(&decision.list);
            self.add(id, BookDecision { list, ..decision });
        }
    }

    /// Adds an entry of the journal. It is enforced, but its decision is not known yet. An entry of a list with other
    /// ports moves to the list that takes its place.
    pub fn restore(&mut self, list: Arc<str>, target: Target, until: Timestamp, note: Option<Arc<str>>) {
        let note = note.unwrap_or_else(|| UNKNOWN_NOTE.into());
        let here = self.origins.in_place_of(&list);
        self.entries.set_sent(EntryKey { list, target }, EntryTerms { until, note: Arc::clone(&note) });
        let id = DecisionId::Restored(self.restored);
        self.restored += 1;
        let (scope, seen) = (Scope::Target(target), self.full_answers);
        self.add(id, BookDecision { origin: None, list: here, scope, until, note, absent_since: None, seen });
    }

    /// Takes an answer that says what changed since the answer before.
    pub fn take_delta(&mut self, answer: StreamAnswer, now: Timestamp) {
        self.expire(now);
        self.apply(answer, now);
        self.has_delta = true;
    }

    /// Takes an answer that has all decisions. What it lacks goes when a later full answer lacks it too,
    /// unless that would be more than `max_shrink` percent of all decisions.
    pub fn take_full(&mut self, answer: StreamAnswer, now: Timestamp, max_shrink: u8) -> FullReport {
        let missed = self.missed(&answer, now);
        self.expire(now);
        self.full_answers += 1;
        self.has_delta = false;
        self.apply(answer, now);
        self.adopt_restored();
        let report = self.remove_absent(now, max_shrink);
        self.marks.set_last_full(now);
        FullReport { missed, ..report }
    }

    /// Sets the networks of an AS or a country, from a database; none if no database has it. A caller without
    /// databases must pass none, too: until then, restored entries that may belong to such decisions stay.
    pub fn set_networks(&mut self, scope: &Scope, networks: Option<Targets>) {
        if networks.as_ref().is_some_and(|networks| self.scopes.has_networks(scope, networks)) {
            return;
        }
        let ids = self.scopes.decisions(scope);
        let removed: Vec<_> = ids.into_iter().filter_map(|id| Some((id, self.remove(id)?))).collect();
        self.scopes.set_networks(scope, networks);
        for (id, decision) in removed {
            self.add(id, decision);
        }
    }

    /// The autonomous systems and countries with decisions, sorted. The databases must be asked for them.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        self.scopes.used().collect()
    }

    /// The changes that make the enforced entries equal to the decided ones. Each is returned once, unless it
    /// is [refused](Self::refuse). Entries that ended are forgotten, because the blocklist removes them
    /// itself.
    pub fn take_changes(&mut self, now: Timestamp) -> Vec<EntryChange> {
        self.expire(now);
        self.scopes.forget_unused();
        let decisions = &self.decisions;
        let note = |id| decisions.get(&id).map_or_else(|| UNKNOWN_NOTE.into(), |one| Arc::clone(&one.note));
        self.entries.take_changes(now, note)
    }

    /// Takes back one of the last changes, because it was refused. The next
    /// [`take_changes`](Self::take_changes) returns it again.
    pub fn refuse(&mut self, change: &EntryChange) {
        self.entries.refuse(change);
    }

    /// The number of decisions in force of any scope. Restored entries are no decisions until an answer has
    /// them.
    #[must_use]
    pub fn decided(&self) -> u64 {
        self.origins.iter().map(|(_, _, decisions)| decisions).sum()
    }

    /// The number of decisions on an AS or a country without networks.
    #[must_use]
    pub fn unresolved(&self) -> u64 {
        self.scopes.unresolved() as u64
    }

    /// The number of decisions all entries of which were returned as changes, and not refused.
    #[must_use]
    pub fn enforced(&self) -> u64 {
        let unsettled: HashSet<_> = self.entries.unsettled().filter(|id| !id.is_restored()).collect();
        self.decided() - self.unresolved() - unsettled.len() as u64
    }

    /// The number of restored entries that no answer has confirmed yet.
    #[must_use]
    pub fn unconfirmed(&self) -> u64 {
        self.unknown
    }

    /// The number of entries, also of those that were restored.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The entries in the blocklist: lists, and targets on them.
    pub fn into_entries(self) -> impl Iterator<Item = (Arc<str>, Target)> {
        self.entries.into_sent()
    }

    /// The lists that have its entries, or are to have them, sorted.
    #[must_use]
    pub fn lists(&self) -> BTreeSet<Arc<str>> {
        self.entries.lists().collect::<BTreeSet<_>>().into_iter().cloned().collect()
    }

    /// Each origin with its list and the number of its decisions in force, sorted by origin.
    pub fn by_origin(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, u64)> {
        self.origins.iter()
    }

    /// Each origin with its list, also origins whose decisions have all ended.
    pub fn known_origins(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.origins.known()
    }

    /// When a full answer would confirm that decisions are gone. None if all are present, or if the last full
    /// answer confirmed it and too many would go.
    #[must_use]
    pub fn next_confirmation(&self) -> Option<Timestamp> {
        self.marks.next_confirmation()
    }

    /// Removes the decisions that ended.
    fn expire(&mut self, now: Timestamp) {
        while self.ends.first().is_some_and(|(until, _)| *until <= now)
            && let Some((_, id)) = self.ends.pop_first()
        {
            self.remove(id);
        }
    }

    fn apply(&mut self, answer: StreamAnswer, now: Timestamp) {
        for id in answer.deleted {
            self.remove(DecisionId::Lapi(id));
        }
        for decision in answer.new {
            self.insert(decision, now);
        }
    }

    fn insert(&mut self, decision: Decision, now: Timestamp) {
        let id = DecisionId::Lapi(decision.id);
        if decision.until <= now {
            self.remove(id);
            return;
        }
        if !self.confirm(id, &decision) {
            self.replace(id, &decision);
        }
        if self.unknown > 0 {
            self.clear_marks_beside(id);
        }
    }

    /// Replaces what the ID meant before. A new database of LAPI numbers its decisions anew: a target that the
    /// ID meant before stays in force like a restored entry.
    fn replace(&mut self, id: DecisionId, decision: &Decision) {
        let before = self.remove(id);
        let list = self.origins.list(&decision.origin);
        let is_same = |before: &BookDecision| before.scope == decision.scope && before.list == list;
        let is_kept = |before: &&BookDecision| !is_same(before) && matches!(before.scope, Scope::Target(_));
        if let Some(other) = before.as_ref().filter(is_kept) {
            let other_id = DecisionId::Restored(self.restored);
            self.restored += 1;
            let seen = self.full_answers.wrapping_sub(1);
            self.add(other_id, BookDecision { origin: None, absent_since: None, seen, ..other.clone() });
        }
        let before = before.filter(is_same);
        let before = before.map(|before| before.until).filter(|before| is_same_end(*before, decision.until));
        let new = BookDecision {
            origin: Some(Arc::clone(&decision.origin)),
            list,
            scope: decision.scope,
            until: before.unwrap_or(decision.until),
            note: note(decision).into(),
            absent_since: None,
            seen: self.full_answers,
        };
        self.add(id, new);
    }

    /// Notes that an answer has a decision. False if the book does not have it just so.
    fn confirm(&mut self, id: DecisionId, decision: &Decision) -> bool {
        let Some(known) = self.decisions.get_mut(&id) else { return false };
        let is_same = known.origin.as_ref() == Some(&decision.origin)
            && known.scope == decision.scope
            && is_same_end(known.until, decision.until)
            && *known.note == *note(decision);
        if is_same {
            known.seen = self.full_answers;
            self.clear_mark(id);
        }
        is_same
    }

    /// Clears the marks of restored entries that this decision requires.
    fn clear_marks_beside(&mut self, id: DecisionId) {
        let Some(decision) = self.decisions.get(&id) else { return };
        let claims = self.keys(decision).flat_map(|key| self.entries.claims(&key).to_vec());
        let restored: Vec<_> = claims.map(|(_, id)| id).filter(|id| id.is_restored()).collect();
        for id in restored {
            self.clear_mark(id);
        }
    }

    fn clear_mark(&mut self, id: DecisionId) {
        if let Some(since) = self.decisions.get_mut(&id).and_then(|decision| decision.absent_since.take()) {
            self.marks.remove(since);
        }
    }

    /// The entries that a decision requires, as far as its networks are known.
    fn keys(&self, decision: &BookDecision) -> impl Iterator<Item = EntryKey> {
        let targets = self.scopes.targets(&decision.scope);
        let list = Arc::clone(&decision.list);
        targets.map(move |target| EntryKey { list: Arc::clone(&list), target })
    }

    /// Adds a decision that the book does not have.
    fn add(&mut self, id: DecisionId, mut decision: BookDecision) {
        match &decision.origin {
            Some(origin) => {
                self.origins.add(origin, &decision.list);
                decision.until = self.restored_end(&decision).unwrap_or(decision.until);
            }
            None => self.unknown += 1,
        }
        if let Some(since) = decision.absent_since {
            self.marks.add(since);
        }
        self.ends.insert((decision.until, id));
        self.scopes.attach(decision.scope, id);
        for target in self.scopes.targets(&decision.scope) {
            let key = EntryKey { list: Arc::clone(&decision.list), target };
            self.entries.attach(key, (decision.until, id));
        }
        self.decisions.insert(id, decision);
    }

    fn remove(&mut self, id: DecisionId) -> Option<BookDecision> {
        let decision = self.decisions.remove(&id)?;
        match &decision.origin {
            Some(origin) => self.origins.remove(origin),
            None => self.unknown -= 1,
        }
        if let Some(since) = decision.absent_since {
            self.marks.remove(since);
        }
        self.ends.remove(&(decision.until, id));
        for target in self.scopes.targets(&decision.scope) {
            let key = EntryKey { list: Arc::clone(&decision.list), target };
            self.entries.detach(key, (decision.until, id));
        }
        self.scopes.detach(&decision.scope, id);
        Some(decision)
    }

    /// The end of a restored entry that this decision probably made.
    fn restored_end(&self, decision: &BookDecision) -> Option<Timestamp> {
        if self.unknown == 0 {
            return None;
        }
        let has_its_note =
            |id| self.decisions.get(&id).is_some_and(|restored| restored.note == decision.note);
        let is_same = |(until, id): &&(Timestamp, DecisionId)| {
            id.is_restored() && is_same_end(*until, decision.until) && has_its_note(*id)
        };
        self.keys(decision).find_map(|key| {
            let found = self.entries.claims(&key).iter().find(is_same);
            found.map(|(until, _)| *until)
        })
    }
}

fn is_same_end(one: Timestamp, other: Timestamp) -> bool {
    one.after(other).unsigned_abs() <= SAME_END
}

/// The note of an entry that this decision requires.
fn note(decision: &Decision) -> String {
    let Decision { id, scenario, .. } = decision;
    if scenario.is_empty() { format!("decision {id}") } else { format!("{scenario} (decision {id})") }
}

#[cfg(test)]
mod tests;
