//! The part of the owner that jobs change.

use std::time::Duration;

use super::capacity::Capacity;
use super::commit::Protection;
use super::lists::ListCopies;
use super::persistence::Persistence;

/// The blocklist with its tables, the journal of live entries, and the lists of the configuration.
pub struct Core {
    pub protection: Protection,
    pub capacity: Capacity,
    pub persistence: Persistence,
    /// Their sources and their copies on disk.
    pub lists: ListCopies,
    /// What a reload is doing, to show people.
    pub activity: Option<&'static str>,
}

impl Core {
    /// A core in which nothing is under way.
    pub fn new(
        protection: Protection,
        capacity: Capacity,
        persistence: Persistence,
        lists: ListCopies,
    ) -> Self {
        Self { protection, capacity, persistence, lists, activity: None }
    }

    /// The time until the journal or the copies of lists need attention.
    pub fn until_due(&self) -> Option<Duration> {
        self.persistence.until_due().into_iter().chain(self.lists.until_due()).min()
    }
}

impl AsMut<Self> for Core {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}
