//! Removes expired entries: blocked ones first, and allowed ones a grace period later. Otherwise a packet in
//! flight could find a target that is still listed but no longer allowed, although both have expired.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info};

use super::capacity::Capacity;
use super::commit::Protection;
use crate::blocklist::{Change, Polarity, Timestamp};
use crate::clock;
use crate::text::Explain;

/// How many entries expire at most between two requests, which takes a millisecond or two.
const MOST: usize = 4096;

/// The state of expiry that is under way.
#[derive(Default)]
pub struct Expiry {
    ending: Option<AllowExpiry>,
    /// Expired entries of each side that are not in the log yet.
    untold: [UnreportedExpiry; 2],
}

/// The content of one log line.
#[derive(Default)]
struct UnreportedExpiry {
    entries: u64,
    lists: BTreeSet<Arc<str>>,
}

/// The allowed entries that expire next.
#[derive(Clone, Copy)]
struct AllowExpiry {
    /// All entries with a deadline up to this time.
    over: Timestamp,
    /// The latest removal of a blocked target at that time. Later removals are not waited for, because they
    /// could continue without end.
    after: u64,
}

impl Expiry {
    /// The time until something is due. Entries that wait for a grace period are not due, because its end is
    /// a separate event.
    pub fn until_due(&self, protection: &Protection, capacity: &Capacity) -> Option<Duration> {
        let due = |polarity: Polarity| protection.blocklist().next_deadline_of(polarity).map(clock::until);
        let waits = self.ending.is_some_and(|ending| capacity.is_waiting_for(ending.after));
        let allow = due(Polarity::Allow).filter(|due| !due.is_zero() || !waits);
        due(Polarity::Block).into_iter().chain(allow).min()
    }

    /// Removes the entries whose deadline has passed.
    pub fn expire(&mut self, protection: &mut Protection, capacity: &mut Capacity) {
        let now = clock::now();
        if is_over(protection, Polarity::Block, now) {
            self.untold[0].end(Polarity::Block, now, protection);
        }
        let is_next = !is_over(protection, Polarity::Block, now) && is_over(protection, Polarity::Allow, now);
        if self.ending.is_none() && is_next {
            self.ending = Some(AllowExpiry { over: now, after: protection.latest().left });
        }
        if let Some(AllowExpiry { over, after }) = self.ending
            && capacity.check_grace(after)
        {
            self.untold[1].end(Polarity::Allow, over, protection);
            self.ending = self.ending.filter(|_| is_over(protection, Polarity::Allow, over));
        }
        self.tell(protection, now);
    }

    /// Writes one log line for consecutive turns, after the last of the due entries has expired.
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

impl UnreportedExpiry {
    fn end(&mut self, polarity: Polarity, now: Timestamp, protection: &mut Protection) {
        match protection.commit(&Change::Expire { polarity, most: MOST }, now) {
            Ok(applied) => {
                self.entries += applied.changed;
                self.lists.extend(applied.lists);
            }
            Err(error) => error!("{}", error.explain()),
        }
    }

    /// Takes the number of entries and the names of their lists.
    fn take(&mut self) -> (u64, String) {
        let Self { entries, lists } = std::mem::take(self);
        (entries, lists.into_iter().collect::<Vec<_>>().join(", "))
    }
}
