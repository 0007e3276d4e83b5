//! What a format cannot carry, counted by reason.

use std::collections::{BTreeMap, BTreeSet};

use filter_common::target::Target;

use crate::command::render::figure::counted_as;
use crate::control::wire::Entry;

/// Reasons, and of how many entries that is true; and what is so of all entries of a list.
#[derive(Debug, Default)]
pub struct Lost {
    reasons: BTreeMap<String, u64>,
    left_out: u64,
    of_lists: BTreeSet<String>,
}

impl Lost {
    /// One entry more of which this is to be said.
    pub fn note(&mut self, why: impl Into<String>) {
        *self.reasons.entry(why.into()).or_default() += 1;
    }

    /// One entry more is left out for this, though it is in force: whoever loads the export lacks it.
    pub fn leave_out(&mut self, why: impl Into<String>) {
        self.left_out += 1;
        self.note(why);
    }

    /// Is what was written all that is in force?
    pub fn is_whole(&self) -> bool {
        self.left_out == 0
    }

    /// This is to be said of a list, once.
    pub fn say(&mut self, what: String) {
        self.of_lists.insert(what);
    }

    /// What a set can have of an entry, if anything.
    pub fn element(&mut self, entry: &Entry) -> Option<Target> {
        if let Some(ports) = &entry.ports {
            self.leave_out(format!("left out, because it blocks {ports}, and a set has no ports"));
            return None;
        }
        if entry.blocks.is_some() {
            self.note(
                "blocks more than its target, because its list widens IPv6: only the target is written",
            );
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
