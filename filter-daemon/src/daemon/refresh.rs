//! Clients that wait until lists are fetched and read.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::blocklist::Polarity;
use crate::control::ReplyTo;
use crate::control::wire::Fault;
use crate::control::wire::refresh::Reply;
use crate::control::wire::reload::Reply as Reloaded;
use crate::source::digest::Digest;
use crate::source::feeds::FeedKey;

/// The clients that wait for lists to be fetched and read.
#[derive(Default)]
pub struct Refreshing {
    /// In the order in which they came.
    pub waiting: Vec<WaitingRefresh>,
    /// Why fetched entries are not in force, and since when.
    pub refused: Option<Fault>,
}

/// A client that waits for lists.
pub struct WaitingRefresh {
    /// The lists to read.
    pub lists: Vec<Arc<str>>,
    /// The feeds that are still to be fetched.
    pub fetching: BTreeSet<FeedKey>,
    /// The contents of the lists when the client asked.
    pub before: Vec<Option<ContentsMark>>,
    /// The changes to these lists since then.
    pub so_far: Reloaded,
    pub reply: ReplyTo<Reply>,
}

/// Identifies the contents of a list: polarity, bytes and their digest.
pub type ContentsMark = (Polarity, u64, Digest);

impl Refreshing {
    /// The fault shown while fetched entries could not take effect.
    pub fn fault(&self) -> Option<Fault> {
        self.refused.clone()
    }

    /// Adds the changes of a refresh to the clients that wait for these lists.
    pub fn add(&mut self, lists: &BTreeSet<Arc<str>>, reloaded: &Reloaded) {
        let concerned =
            self.waiting.iter_mut().filter(|waiting| waiting.lists.iter().any(|list| lists.contains(list)));
        for WaitingRefresh { so_far, .. } in concerned {
            so_far.entered += reloaded.entered;
            so_far.left += reloaded.left;
            so_far.allowed += reloaded.allowed;
            so_far.disallowed += reloaded.disallowed;
            so_far.warnings.extend(reloaded.warnings.iter().cloned());
            so_far.not_kept.clone_from(&reloaded.not_kept);
        }
    }
}
