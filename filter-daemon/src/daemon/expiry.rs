//! What is over goes: of what is blocked first, and of what is allowed a grace period later, so that no packet in flight
//! finds a target that is listed still and allowed no longer when both have ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info};

use super::capacity::Capacity;
use super::commit::Protection;
use crate::blocklist::{Change, Polarity, Timestamp};
use crate::clock;
use crate::text::Explain;

/// Entries that expire between two requests, at most: a millisecond or two.
const MOST: usize = 4096;

/// What is under way of that.
#[derive(Default)]
pub struct Expiry {
    ending: Option<Ending>,
    /// What has expired on each side of which the log has not been told.
    untold: [Untold; 2],
}

/// What is told in one line.
#[derive(Default)]
struct Untold {
    /// How many entries.
    entries: u64,
    /// Of which lists.
    lists: BTreeSet<Arc<str>>,
}

/// Of what is allowed, what ends next.
#[derive(Clone, Copy)]
struct Ending {
    /// All that was over then.
    over: Timestamp,
    /// The commit by which something had left then: what goes on leaving is not waited for, or it would never end.
    after: u64,
}

impl Expiry {
    /// How long until something is to be done. What waits for a grace period is not due: its end is an event of its own.
    pub fn until_due(&self, protection: &Protection, capacity: &Capacity) -> Option<Duration> {
        let due = |polarity: Polarity| protection.blocklist().next_deadline_of(polarity).map(clock::until);
        let waits = self.ending.is_some_and(|ending| capacity.is_waiting_for(ending.after));
        let allow = due(Polarity::Allow).filter(|due| !due.is_zero() || !waits);
        due(Polarity::Block).into_iter().chain(allow).min()
    }

    /// Lets go of what is over now.
    pub fn expire(&mut self, protection: &mut Protection, capacity: &mut Capacity) {
        let now = clock::now();
        if is_over(protection, Polarity::Block, now) {
            self.untold[0].end(Polarity::Block, now, protection);
        }
        let is_next = !is_over(protection, Polarity::Block, now) && is_over(protection, Polarity::Allow, now);
        if self.ending.is_none() && is_next {
            self.ending = Some(Ending { over: now, after: protection.latest().left });
        }
        if let Some(Ending { over, after }) = self.ending
            && capacity.has_been_seen(after)
        {
            self.untold[1].end(Polarity::Allow, over, protection);
            self.ending = self.ending.filter(|_| is_over(protection, Polarity::Allow, over));
        }
        self.tell(protection, now);
    }

    /// What expires in one turn after the other is told in one line, when the last of it has.
    fn tell(&mut self, protection: &Protection, now: Timestamp) {
        let [blocked, allowed] = &mut self.untold;
        if blocked.entries > 0 && !is_over(protection, Polarity::Block, now) {
            let (entries, lists) = blocked.take();
            info!(watch.verb = "expire", watch.lists = lists, "{entries} expired");
        }
        if allowed.entries > 0 && !is_over(protection, Polarity::Allow, now) {
            let (entries, lists) = allowed.take();
            info!(watch.verb = "expire", watch.lists = lists, "{entries} expired and no longer allowed");
        }
    }
}

fn is_over(protection: &Protection, polarity: Polarity, now: Timestamp) -> bool {
    protection.blocklist().next_deadline_of(polarity).is_some_and(|next| next <= now)
}

impl Untold {
    fn end(&mut self, polarity: Polarity, now: Timestamp, protection: &mut Protection) {
        match protection.commit(&Change::Expire { polarity, most: MOST }, now) {
            Ok(applied) => {
                self.entries += applied.changed;
                self.lists.extend(applied.lists);
            }
            Err(error) => error!("{}", error.explain()),
        }
    }

    /// How many, and of which lists.
    fn take(&mut self) -> (u64, String) {
        let Self { entries, lists } = std::mem::take(self);
        (entries, lists.into_iter().collect::<Vec<_>>().join(", "))
    }
}
