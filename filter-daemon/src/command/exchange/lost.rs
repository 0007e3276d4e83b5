//! Counts the details that a format cannot express, by reason.

use std::collections::{BTreeMap, BTreeSet};

use filter_common::target::Target;

use crate::command::render::figure::counted_as;
use crate::control::wire::Entry;

/// The number of entries for each reason, and remarks about whole lists.
#[derive(Debug, Default)]
pub struct LostDetails {
    reasons: BTreeMap<String, u64>,
    left_out: u64,
    of_lists: BTreeSet<String>,
}

impl LostDetails {
    /// Counts an entry for this reason.
    pub fn note(&mut self, why: impl Into<String>) {
        *self.reasons.entry(why.into()).or_default() += 1;
    }

    /// Counts an entry in force that is left out of the export for this reason.
    pub fn leave_out(&mut self, why: impl Into<String>) {
        self.left_out += 1;
        self.note(why);
    }

    /// Returns whether the export contains all entries in force.
    pub fn is_whole(&self) -> bool {
        self.left_out == 0
    }

    /// Adds a remark about a list, once.
    pub fn say(&mut self, what: String) {
        self.of_lists.insert(what);
    }

    /// The target that a set can contain for this entry, if any.
    pub fn element(&mut self, entry: &Entry) -> Option<Target> {
        if let Some(ports) = &entry.ports {
            self.leave_out(format!("left out, because it blocks {ports}, and a set has no ports"));
            return None;
        }
        if entry.direction.as_deref() == Some("out") {
            self.leave_out(
                "left out, because it blocks packets to its target, and a set blocks packets from it",
            );
            return None;
        }
        if entry.direction.is_some() {
            self.note("blocks packets to its target, too, which the set does not");
        }
        if entry.blocks.is_some() {
            self.note(
                "blocks more than its target, because its list widens IPv6: only the target is written",
            );
        }
        entry.target.parse().ok()
    }

    /// All remarks and reasons, one a line.
    pub fn told(&self) -> impl Iterator<Item = String> {
        let of_entries = self
            .reasons
            .iter()
            .map(|(why, count)| format!("{}: {why}", counted_as(*count, ["entry", "entries"])));
        self.of_lists.iter().cloned().chain(of_entries)
    }
}
