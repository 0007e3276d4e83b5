//! How long the entries of a list stay on it. An entry that the list had before keeps its time, unless the
//! `ttl` of the list is another one: then all entries count anew.

use std::time::Duration;

use filter_common::target::Target;

use super::Continued;
use crate::blocklist::{Blocklist, ListId, Timestamp};

/// How long the entries of a list stay on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The `ttl` of the list; for good if none.
    pub ttl: Option<Duration>,
    /// The list in force whose entries keep their times, because it has the same `ttl`.
    pub known: Option<ListId>,
}

impl Lifetime {
    /// The entries never expire, and have no times to keep.
    pub const FOR_GOOD: Self = Self { ttl: None, known: None };

    /// The lifetime on a list with this `ttl` that continues one with `ttl_before`.
    pub fn new(ttl: Option<Duration>, continues: Continued, ttl_before: Option<Duration>) -> Self {
        Self { ttl, known: continues.alive().filter(|_| ttl == ttl_before) }
    }

    /// Whether the list has the `ttl` that it had before.
    pub const fn is_as_before(self) -> bool {
        self.known.is_some()
    }

    /// Whether entries expire, and those that have expired do not return while their file names them.
    pub const fn goes_on(self) -> bool {
        self.ttl.is_some() && self.known.is_some()
    }

    /// When an entry that is added at `now` expires. Round `now` up: nothing may expire early.
    pub fn anew(self, now: Timestamp) -> Option<Timestamp> {
        self.ttl.map(|ttl| now.later_by(i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX)))
    }

    /// When this entry expires. The inner option is none if it never does. The outer option is none if it has
    /// expired and does not return.
    pub fn until(self, target: Target, in_force: &Blocklist, now: Timestamp) -> Option<Option<Timestamp>> {
        let Some(id) = self.known.filter(|_| self.ttl.is_some()) else { return Some(self.anew(now)) };
        match in_force.times_of(target, id) {
            Some((_, until)) => Some(until),
            None if in_force.lists().get(id).spent.contains(target) => None,
            None => Some(self.anew(now)),
        }
    }
}
