//! Room and time in the kernel: when a larger table is waited for, when entries on the move take their next step, and when
//! memory is given back.

use std::io;
use std::time::{Duration, Instant};

use filter_common::sets::SetName;
use tokio::task::JoinHandle;
use tracing::{error, warn};

use super::commit::Protection;
use super::needs;
use crate::blocklist::{Change, Targets};
use crate::clock;
use crate::kernel::grace;
use crate::text::Explain;

/// How often a larger table in the making is asked whether it is done.
const GROWTH_POLL: Duration = Duration::from_millis(2);

/// A wave of attackers may come back within this time, and a table that was made for them is better kept.
const LONG: Duration = Duration::from_secs(10 * 60);

/// A look takes a while where there is much of both, in pages of a millisecond.
const LOOKS_APART: Duration = Duration::from_secs(10);

/// So few targets never wait: their additions go into the margin above the limit, and into the stash.
const SMALL: usize = 64;

/// The part of the owner's state that is about the kernel's memory and its grace periods.
#[derive(Default)]
pub struct Capacity {
    grace: Option<JoinHandle<io::Result<()>>>,
    /// The latest commit when it began: what was made until then will have been seen.
    covers: u64,
    /// What every packet in flight has seen.
    seen: u64,
    /// Somebody waits for a grace period that has not begun yet.
    is_wanted: bool,
    /// The kernel has no grace periods for us: entries on the move get a table of their own instead.
    graceless: bool,
    roominess: Roominess,
    /// Until which commit it is known whether anything allowed overlaps anything blocked.
    looked: u64,
    looked_at: Option<Instant>,
}

impl Capacity {
    /// Finds out at once, away from everybody, whether the kernel has grace periods.
    pub fn begin() -> Self {
        Self { grace: Some(tokio::task::spawn_blocking(grace::wait)), ..Self::default() }
    }

    /// May these enter now? Not while many entries are on the move, or until a larger table is made: few always may. And
    /// nobody until the judge is loaded that looks them up.
    pub fn has_room(&self, protection: &mut Protection, set: SetName, targets: &Targets) -> bool {
        let is_seen = protection.filter().sees(set, targets);
        if !is_seen && protection.filter().is_awaiting_judge() {
            return false;
        }
        (targets.len() <= SMALL || self.has_tables(protection, set, targets))
            && (is_seen || Self::has_judge(protection, set, targets))
    }

    fn has_judge(protection: &mut Protection, set: SetName, targets: &Targets) -> bool {
        let needs = protection.needs_with(set, targets);
        let (filter, blocklist) = protection.parts();
        // Where none can be loaded, the addition itself will be told so.
        filter.reserve_aside(&needs, blocklist).unwrap_or(true)
    }

    fn has_tables(&self, protection: &mut Protection, set: SetName, targets: &Targets) -> bool {
        if self.grace.is_some() && protection.filter().is_crowded() {
            return false;
        }
        let needs = protection.needs_with(set, targets);
        let (filter, blocklist) = protection.parts();
        // Where there is no memory for it, the addition itself will be told so.
        filter.has_room(&needs) || !filter.grow_aside(&needs, blocklist).is_ok_and(|growing| growing.any())
    }

    /// Has every packet in flight seen this commit? If not, it will have when this is asked again and again.
    pub fn has_been_seen(&mut self, commit: u64) -> bool {
        let is_seen = self.graceless || self.seen >= commit;
        self.is_wanted |= !is_seen && (self.grace.is_none() || self.covers < commit);
        is_seen
    }

    /// As if a grace period had begun after everything and were over.
    #[cfg(test)]
    pub fn everybody_has_seen(&mut self, protection: &Protection) {
        self.seen = protection.latest().commit;
    }

    /// Has somebody to wait for a grace period that is under way, before every packet has seen this commit?
    pub fn is_waiting_for(&self, commit: u64) -> bool {
        !self.graceless && self.seen < commit && self.grace.is_some()
    }

    /// Has the kernel no grace periods?
    pub fn is_graceless(&self) -> bool {
        self.graceless
    }

    /// Lets entries on the move take their next step, and waits for a grace period if they, or anybody else, need one. True
    /// if the last larger table that was in the making is so no longer, or the judge is there that was awaited.
    pub fn settle(&mut self, protection: &mut Protection) -> bool {
        let (filter, blocklist) = protection.parts();
        let (was_growing, was_awaiting) = (filter.is_growing(), filter.is_awaiting_judge());
        let due = if self.grace.is_some() {
            if was_growing || was_awaiting { filter.grow(blocklist).map(|()| false) } else { return false }
        } else if self.graceless {
            filter.settle_anew(blocklist).map(|()| false)
        } else {
            filter.settle(blocklist)
        };
        let is_due = due.unwrap_or_else(|error| {
            error!("{}", error.explain());
            false
        });
        if self.grace.is_none() && (is_due || self.is_wanted && !self.graceless) {
            self.is_wanted = false;
            self.covers = protection.latest().commit;
            self.grace = Some(tokio::task::spawn_blocking(grace::wait));
        }
        let filter = protection.filter();
        was_growing && !filter.is_growing() || was_awaiting && !filter.is_awaiting_judge()
    }

    /// Waits until the grace period is over, or for ever if there is none.
    pub async fn grace_period(&mut self) -> io::Result<()> {
        match &mut self.grace {
            Some(grace) => grace.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())),
            None => std::future::pending().await,
        }
    }

    /// It is over, or refused.
    pub fn end_grace(&mut self, result: io::Result<()>) {
        self.grace = None;
        match result {
            Ok(()) => self.seen = self.covers,
            Err(error) => {
                warn!(
                    "the kernel gives no grace periods ({error}): filterd rebuilds crowded tables instead, which is slower"
                );
                self.graceless = true;
            }
        }
    }

    /// Packets from blocked sources ask what is allowed as long as something allowed overlaps something blocked. Who has left
    /// may have been the last that did, and is known to be gone to every packet in flight before they cease to ask.
    pub fn look_for_overlap(&mut self, protection: &mut Protection) {
        let latest = protection.latest();
        let last_left = latest.left.max(latest.disallowed);
        let is_under_way = protection.blocklist().is_looking_for_overlap();
        let is_due = self.looked_at.is_none_or(|at| clock::instant().duration_since(at) >= LOOKS_APART);
        let is_new = self.looked < last_left && protection.filter().asks_allow();
        let is_wanted = is_under_way || is_due && is_new;
        // What left since a look began has been seen by all by its end, too.
        if self.graceless || !is_wanted || !self.has_been_seen(latest.left) {
            return;
        }
        if !is_under_way {
            (self.looked, self.looked_at) = (last_left, Some(clock::instant()));
        }
        if let Err(error) = protection.commit(&Change::LookForOverlap, clock::now()) {
            error!("{}", error.explain());
        }
    }

    /// How often something is to be looked after, if anything is.
    pub fn poll(protection: &Protection) -> Option<Duration> {
        let is_looking = protection.blocklist().is_looking_for_overlap();
        let filter = protection.filter();
        (filter.is_growing() || filter.is_awaiting_judge() || is_looking).then_some(GROWTH_POLL)
    }

    /// Builds tables anew that have long been much too large.
    pub fn shrink_in_time(&mut self, protection: &mut Protection) {
        let needs = needs::of(protection.blocklist());
        let filter = protection.filter();
        let is_roomy = !filter.is_growing() && filter.is_roomy_for(&needs);
        if self.roominess.is_long(is_roomy, clock::instant()) {
            self.shrink(protection);
        }
    }

    /// Builds tables anew that are much too large, and switches off what nothing needs any more.
    pub fn shrink(&mut self, protection: &mut Protection) {
        self.roominess = Roominess::default();
        let needs = needs::of(protection.blocklist());
        let (filter, blocklist) = protection.parts();
        if let Err(error) = filter.shrink_to(&needs, blocklist).and_then(|()| filter.tidy(&needs)) {
            error!("cannot release memory: {}", error.explain());
        }
    }
}

/// Since when tables are much larger than they need be.
#[derive(Debug, Default)]
struct Roominess(Option<Instant>);

impl Roominess {
    /// Has it been so for long?
    fn is_long(&mut self, is_roomy: bool, now: Instant) -> bool {
        if !is_roomy {
            self.0 = None;
            return false;
        }
        now.duration_since(*self.0.get_or_insert(now)) >= LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_empty_all_the_time_is_long_empty() {
        let (mut roominess, begun) = (Roominess::default(), clock::instant());
        assert!(!roominess.is_long(true, begun));
        assert!(!roominess.is_long(true, begun + LONG / 2));
        assert!(roominess.is_long(true, begun + LONG));
        assert!(!roominess.is_long(false, begun + LONG));
        assert!(!roominess.is_long(true, begun + LONG), "it begins anew");
    }
}
