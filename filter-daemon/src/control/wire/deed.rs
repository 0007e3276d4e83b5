//! The action of a request and its result, as the log has them.

use std::time::Duration;

use filter_common::target::Target;

use super::Changed;
use crate::config::ListName;

/// A request that changes something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deed {
    /// The command that sends such a request: `add`.
    pub verb: &'static str,
    /// Number of its targets, if it names any.
    pub targets: u64,
    /// The first of its targets.
    pub first: Option<Target>,
    /// Name of the list, if the request has one.
    pub list: Option<String>,
    /// How long it lasts.
    pub ttl: Option<Duration>,
    /// The note of the user.
    pub note: Option<String>,
}

/// The result of a request, in counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of entries that changed.
    pub changed: u64,
    /// Number of targets that are newly blocked.
    pub entered: u64,
    /// Number of targets that are no longer blocked.
    pub left: u64,
    /// After a reload: number of targets that are newly allowed.
    pub allowed: u64,
    /// After a reload: number of targets that are no longer allowed.
    pub disallowed: u64,
    /// Other settings that changed, in the words of the reply.
    pub settings: Vec<String>,
    /// The lists that changed. After a reload: lists that were added, removed or renamed as a whole.
    pub lists: Vec<String>,
    /// Interfaces that are newly filtered.
    pub attached: Vec<String>,
    /// Interfaces that are no longer filtered.
    pub detached: Vec<String>,
    /// Messages of the faults that were acknowledged.
    pub troubles: Vec<String>,
    /// Whether the change is in force but not on disk.
    pub is_volatile: bool,
    /// Whether there was nothing to do, such as nothing to confirm.
    pub is_in_vain: bool,
}

impl Deed {
    /// Describes a request about these targets of this list.
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
