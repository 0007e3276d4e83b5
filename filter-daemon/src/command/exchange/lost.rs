//! What a format cannot carry, counted by reason.

use std::collections::{BTreeMap, BTreeSet};

use filter_common::target::Target;

use crate::command::render::figure::counted_as;
use crate::control::wire::Entry;

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

    /// What a set can have of an entry, if anything.
    pub fn element(&mut self, entry: &Entry) -> Option<Target> {
        if let Some(ports) = &entry.ports {
            self.note(format!("left out, for it blocks {ports}, and a set has no ports"));
            return None;
        }
        if entry.blocks.is_some() {
            self.note("blocks more than it names, as its list widens IPv6: only what it names is written");
        }
        entry.target.parse().ok()
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
