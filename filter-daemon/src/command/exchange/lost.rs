//! What a format cannot carry, counted by reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::render::figure::counted_as;

/// Reasons, and of how many entries that is true; and what is so of all entries of a list.
#[derive(Debug, Default)]
pub struct Lost {
    reasons: BTreeMap<String, u64>,
    of_lists: BTreeSet<String>,
}

impl Lost {
    /// One entry more of which this is to be said.
    pub fn note(&mut self, why: impl Into<String>) {
        *self.reasons.entry(why.into()).or_default() += 1;
    }

    /// This is to be said of a list, once.
    pub fn say(&mut self, what: String) {
        self.of_lists.insert(what);
    }

    /// All of it, a line a reason.
    pub fn told(&self) -> impl Iterator<Item = String> {
        let of_entries = self
            .reasons
            .iter()
            .map(|(why, count)| format!("{}: {why}", counted_as(*count, ["entry", "entries"])));
        self.of_lists.iter().cloned().chain(of_entries)
    }
}
