//! What is over goes: of what is blocked first, and of what is allowed a grace period later, so that no packet in flight
//! finds a target that is listed still and allowed no longer when both have ended.

use std::time::Duration;

use tracing::{error, info};

use super::capacity::Capacity;
use super::commit::Protection;
use crate::blocklist::{Change, Polarity};
use crate::clock;
use crate::text::Explain;

/// Entries that expire between two requests, at most: a millisecond or two.
const MOST: usize = 4096;

/// How long until something is to be done. What waits for a grace period is not due: its end is an event of its own.
pub fn until_due(protection: &Protection, capacity: &Capacity) -> Option<Duration> {
    let due = |polarity: Polarity| protection.blocklist().next_deadline_of(polarity).map(clock::until);
    let block = due(Polarity::Block);
    let allow = due(Polarity::Allow)
        .filter(|due| !due.is_zero() || !capacity.is_waiting_for(protection.latest().left));
    block.into_iter().chain(allow).min()
}

/// How many have expired on each side of which the log has not been told.
#[derive(Default)]
pub struct Untold([u64; 2]);

/// Lets go of what is over now.
pub fn expire(protection: &mut Protection, capacity: &mut Capacity, untold: &mut Untold) {
    let is_over = |protection: &Protection, polarity: Polarity| {
        let next = protection.blocklist().next_deadline_of(polarity);
        next.is_some_and(|next| clock::until(next).is_zero())
    };
    if is_over(protection, Polarity::Block) {
        untold.0[0] += end(Polarity::Block, protection);
    }
    let is_next = !is_over(protection, Polarity::Block) && is_over(protection, Polarity::Allow);
    if is_next && capacity.has_been_seen(protection.latest().left) {
        untold.0[1] += end(Polarity::Allow, protection);
    }
    untold.tell(protection, is_over);
}

fn end(polarity: Polarity, protection: &mut Protection) -> u64 {
    match protection.commit(&Change::Expire { polarity, most: MOST }, clock::now()) {
        Ok(applied) => applied.changed,
        Err(error) => {
            error!("{}", error.explain());
            0
        }
    }
}

impl Untold {
    /// What expires in one turn after the other is told in one line, when the last of it has.
    fn tell(&mut self, protection: &Protection, is_over: impl Fn(&Protection, Polarity) -> bool) {
        let [blocked, allowed] = &mut self.0;
        if *blocked > 0 && !is_over(protection, Polarity::Block) {
            info!(watch.verb = "expire", "{} expired", std::mem::take(blocked));
        }
        if *allowed > 0 && !is_over(protection, Polarity::Allow) {
            info!(watch.verb = "expire", "{} allowed no longer: expired", std::mem::take(allowed));
        }
    }
}
