//! What a format cannot carry, counted by reason.

use std::collections::BTreeMap;

use crate::command::render::figure::counted_as;

/// Reasons, and of how many entries that is true.
#[derive(Debug, Default)]
pub struct Lost(BTreeMap<String, u64>);

impl Lost {
    /// One entry more of which this is to be said.
    pub fn note(&mut self, why: impl Into<String>) {
        *self.0.entry(why.into()).or_default() += 1;
    }

    /// All of it, a line a reason.
    pub fn told(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(why, count)| format!("{}: {why}", counted_as(*count, ["entry", "entries"])))
    }
}
