//! What a request wants changed and what came of it, in the words of the log.

use std::time::Duration;

use filter_common::target::Target;

use super::Changed;
use crate::config::ListName;

/// A request that changes something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deed {
    /// The command that asks for it: `add`.
    pub verb: &'static str,
    /// How many targets it names, if it names any.
    pub targets: u64,
    /// The first of them.
    pub first: Option<Target>,
    /// The list it is about, if it says so.
    pub list: Option<String>,
    /// For how long.
    pub ttl: Option<Duration>,
    /// Why, in the words of whoever asks.
    pub note: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries that were changed.
    pub changed: u64,
    /// Targets that entered the filter.
    pub entered: u64,
    /// Targets that left it.
    pub left: u64,
    /// Of a reload: targets that came to be allowed.
    pub allowed: u64,
    /// Those that are allowed no longer.
    pub disallowed: u64,
    /// What else was switched, in the words of its reply.
    pub settings: Vec<String>,
    /// The lists in which anything changed; of a reload: those that it names for the sake of what became of them as a whole.
    pub lists: Vec<String>,
    /// Interfaces that are filtered from then on.
    pub attached: Vec<String>,
    /// Those that are filtered no longer.
    pub detached: Vec<String>,
    /// Troubles that were acknowledged.
    pub troubles: Vec<String>,
    /// It is done, but not on disk.
    pub is_volatile: bool,
}

impl Deed {
    /// One about these targets of that list.
    pub fn about(verb: &'static str, targets: &[Target], list: Option<&ListName>) -> Self {
        let list = list.map(ListName::to_string);
        Self { verb, targets: targets.len() as u64, first: targets.first().copied(), list, ..Self::default() }
    }
}

impl From<&Changed> for Counts {
    fn from(reply: &Changed) -> Self {
        let Changed { changed, entered, left, .. } = *reply;
        let is_volatile = reply.not_durable.is_some();
        Self { changed, entered, left, lists: reply.touched.clone(), is_volatile, ..Self::default() }
    }
}
