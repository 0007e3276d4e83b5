//! The entries that decisions require, and what the blocklist was last asked to enforce.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;

use filter_common::target::Target;

use super::id::DecisionId;
use crate::blocklist::Timestamp;

/// What must change in the blocklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryChange {
    /// The entry must last exactly until this time, even if it would last longer now.
    Want {
        list: Arc<str>,
        target: Target,
        until: Timestamp,
        /// The reason, from the decision that lasts longest.
        note: Arc<str>,
    },
    /// No decision requires the entry any more.
    Release { list: Arc<str>, target: Target },
}

/// The list and the target that identify an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    pub list: Arc<str>,
    pub target: Target,
}

/// How long an entry lasts, and why it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryTerms {
    pub until: Timestamp,
    pub note: Arc<str>,
}

/// One entry, as it is decided and as it is enforced.
#[derive(Debug, Default)]
struct BookEntry {
    /// Its decisions with their ends, sorted. The last one lasts longest.
    claims: Vec<(Timestamp, DecisionId)>,
    /// What the blocklist was asked for; none if the entry is not in the blocklist.
    sent: Option<EntryTerms>,
}

/// All entries, and those among them that may have to change.
#[derive(Debug, Default)]
pub struct EntryTable {
    entries: HashMap<EntryKey, BookEntry>,
    /// The entries whose decisions changed since the last changes were taken, and the refused ones.
    dirty: HashSet<EntryKey>,
    /// What was in the blocklist before the last changes, for those entries that were in it.
    replaced: HashMap<EntryKey, EntryTerms>,
}

impl EntryTable {
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a decision to an entry.
    pub fn attach(&mut self, key: EntryKey, claim: (Timestamp, DecisionId)) {
        let entry = self.entries.entry(key.clone()).or_default();
        match entry.claims.binary_search(&claim) {
            // Nearly every entry has one decision. Two more words for each entry would be wasted.
            Err(0) if entry.claims.is_empty() => entry.claims = vec![claim],
            Err(place) => entry.claims.insert(place, claim),
            Ok(_) => {}
        }
        self.dirty.insert(key);
    }

    /// Removes a decision from an entry.
    pub fn detach(&mut self, key: EntryKey, claim: (Timestamp, DecisionId)) {
        if let Some(entry) = self.entries.get_mut(&key) {
            if let Ok(place) = entry.claims.binary_search(&claim) {
                entry.claims.remove(place);
            }
            self.dirty.insert(key);
        }
    }

    /// Notes that the blocklist has this entry.
    pub fn set_sent(&mut self, key: EntryKey, terms: EntryTerms) {
        self.entries.entry(key.clone()).or_default().sent = Some(terms);
        self.dirty.insert(key);
    }

    /// The list of each entry.
    pub fn lists(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.keys().map(|key| &key.list)
    }

    /// The entries that the blocklist has.
    pub fn into_sent(self) -> impl Iterator<Item = (Arc<str>, Target)> {
        let sent = self.entries.into_iter().filter(|(_, entry)| entry.sent.is_some());
        sent.map(|(EntryKey { list, target }, _)| (list, target))
    }

    /// The decisions of an entry, with their ends.
    pub fn claims(&self, key: &EntryKey) -> &[(Timestamp, DecisionId)] {
        self.entries.get(key).map_or(&[], |entry| &entry.claims)
    }

    /// The decisions of entries that may have to change. A decision of several such entries is repeated.
    pub fn unsettled(&self) -> impl Iterator<Item = DecisionId> + '_ {
        self.dirty.iter().flat_map(|key| self.claims(key)).map(|(_, id)| *id)
    }

    /// The changes that make the blocklist equal to the decisions, removals first. All decisions must be in
    /// force.
    pub fn take_changes(
        &mut self,
        now: Timestamp,
        note: impl Fn(DecisionId) -> Arc<str>,
    ) -> Vec<EntryChange> {
        self.replaced = HashMap::new();
        let mut keys: Vec<_> = mem::take(&mut self.dirty).into_iter().collect();
        keys.sort_unstable();
        let (mut changes, mut wants) = (Vec::new(), Vec::new());
        for key in keys {
            match self.settle(&key, now, &note) {
                Some(want @ EntryChange::Want { .. }) => wants.push(want),
                Some(release @ EntryChange::Release { .. }) => changes.push(release),
                None => {}
            }
        }
        changes.append(&mut wants);
        changes
    }

    /// The change of one entry, which then counts as made.
    fn settle(
        &mut self,
        key: &EntryKey,
        now: Timestamp,
        note: impl Fn(DecisionId) -> Arc<str>,
    ) -> Option<EntryChange> {
        let entry = self.entries.get_mut(key)?;
        let wanted = entry.claims.last().map(|(until, id)| EntryTerms { until: *until, note: note(*id) });
        // The blocklist has removed the entry by itself if it ended.
        let sent = entry.sent.take().filter(|sent| sent.until > now);
        entry.sent.clone_from(&wanted);
        if wanted.is_none() {
            self.entries.remove(key);
        }
        if wanted == sent {
            return None;
        }
        let EntryKey { list, target } = key.clone();
        if let Some(sent) = sent {
            self.replaced.insert(key.clone(), sent);
        }
        Some(match wanted {
            Some(EntryTerms { until, note }) => EntryChange::Want { list, target, until, note },
            None => EntryChange::Release { list, target },
        })
    }

    /// Takes back that a change was made. It must be one of the last changes taken.
    pub fn refuse(&mut self, change: &EntryChange) {
        let (EntryChange::Want { list, target, .. } | EntryChange::Release { list, target }) = change;
        let key = EntryKey { list: Arc::clone(list), target: *target };
        let sent = self.replaced.get(&key).cloned();
        if sent.is_some() || self.entries.contains_key(&key) {
            self.entries.entry(key.clone()).or_default().sent = sent;
            self.dirty.insert(key);
        }
    }
}
