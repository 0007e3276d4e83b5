//! Those who wait until lists are fetched, and read again.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::blocklist::Polarity;
use crate::control::ReplyTo;
use crate::control::wire::Fault;
use crate::control::wire::refresh::Reply;
use crate::control::wire::reload::Reply as Reloaded;
use crate::source::feeds::FeedKey;

/// Those who wait for lists to be fetched and read.
#[derive(Default)]
pub struct Refreshing {
    /// In the order in which they came.
    pub waiting: Vec<WaitingRefresh>,
    /// Why what was fetched is not in force, since when.
    pub refused: Option<Fault>,
}

/// One of them.
pub struct WaitingRefresh {
    /// What is to be read.
    pub lists: Vec<Arc<str>>,
    /// The feeds that are still to be fetched.
    pub fetching: BTreeSet<FeedKey>,
    /// What was on the lists before.
    pub before: Vec<Option<ContentsMark>>,
    /// What was changed of them so far.
    pub so_far: Reloaded,
    /// To whom it is told.
    pub reply: ReplyTo<Reply>,
}

/// What tells what was on a list from what is: bytes, and a sum over them.
pub type ContentsMark = (Polarity, u64, u32);

impl Refreshing {
    /// What was fetched and cannot be put in force.
    pub fn fault(&self) -> Option<Fault> {
        self.refused.clone()
    }

    /// This was changed of these lists.
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
