//! Decides when an addition waits for a larger table, when moving entries take their next step, and when
//! memory is freed.

use std::io;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tracing::{error, warn};

use super::commit::Protection;
use super::needs;
use crate::blocklist::{Change, ListSets, Targets};
use crate::clock;
use crate::kernel::grace;
use crate::text::Explain;

/// How often to check whether a larger table is complete.
const GROWTH_POLL: Duration = Duration::from_millis(2);

/// An attack may return within this time, and then the larger table is needed again.
const LONG: Duration = Duration::from_secs(10 * 60);

/// Finding overlaps takes a while in large sets, in pages of one millisecond.
const LOOKS_APART: Duration = Duration::from_secs(10);

/// Up to this many targets never wait: they fit into the margin above the limit, and into the stash.
const SMALL: usize = 64;

/// The part of the owner's state that concerns the kernel's memory and grace periods.
#[derive(Default)]
pub struct Capacity {
    grace: Option<JoinHandle<io::Result<()>>>,
    /// The latest commit when the grace period began. Its end covers all commits up to this one.
    covers: u64,
    /// The last commit that every packet in flight has seen.
    seen: u64,
    /// A grace period is needed that has not begun.
    is_wanted: bool,
    /// The kernel offers no grace periods, so that moving entries get a new table instead.
    graceless: bool,
    roominess: OversizedSince,
    /// The commit up to which overlaps of allowed and blocked targets are known.
    looked: u64,
    looked_at: Option<Instant>,
}

impl Capacity {
    /// Starts finding out in the background whether the kernel has grace periods.
    pub fn begin() -> Self {
        Self { grace: Some(tokio::task::spawn_blocking(grace::wait)), ..Self::default() }
    }

    /// Whether these targets can be added now. They wait while many entries are moving or a larger table is
    /// being made, unless they are few. All of them wait until the judge that looks them up is loaded.
    pub fn has_room(&self, protection: &mut Protection, sets: ListSets, targets: &Targets) -> bool {
        let is_seen = sets.into_iter().all(|set| protection.filter().sees(set, targets));
        if !is_seen && protection.filter().is_awaiting_judge() {
            return false;
        }
        (targets.len() <= SMALL || self.has_tables(protection, sets, targets))
            && (is_seen || Self::has_judge(protection, sets, targets))
    }

    fn has_judge(protection: &mut Protection, sets: ListSets, targets: &Targets) -> bool {
        let needs = protection.needs_with(sets, targets);
        let (filter, blocklist) = protection.parts();
        // If no judge can be loaded, the addition itself reports the error.
        filter.reserve_aside(&needs, blocklist).unwrap_or(true)
    }

    fn has_tables(&self, protection: &mut Protection, sets: ListSets, targets: &Targets) -> bool {
        if self.grace.is_some() && protection.filter().is_crowded() {
            return false;
        }
        let needs = protection.needs_with(sets, targets);
        let (filter, blocklist) = protection.parts();
        // If memory is missing, the addition itself reports the error.
        filter.has_room(&needs) || !filter.grow_aside(&needs, blocklist).is_ok_and(|growing| growing.any())
    }

    /// Returns whether every packet in flight has seen this commit. If not, requests a grace period, so that
    /// a later call returns true.
    pub fn check_grace(&mut self, commit: u64) -> bool {
        let is_seen = self.graceless || self.seen >= commit;
        self.is_wanted |= !is_seen && (self.grace.is_none() || self.covers < commit);
        is_seen
    }

    /// Acts as if a grace period had begun after all commits and had ended.
    #[cfg(test)]
    pub fn everybody_has_seen(&mut self, protection: &Protection) {
        self.seen = protection.latest().commit;
    }

    /// Whether a grace period is under way that must end before every packet has seen this commit.
    pub fn is_waiting_for(&self, commit: u64) -> bool {
        !self.graceless && self.seen < commit && self.grace.is_some()
    }

    /// As on a kernel that offers no grace periods.
    #[cfg(test)]
    pub fn without_grace() -> Self {
        Self { graceless: true, ..Self::default() }
    }

    pub fn is_graceless(&self) -> bool {
        self.graceless
    }

    /// Moves entries one step further, and starts a grace period if one is needed. Returns true if a larger
    /// table that was being made is now finished or given up, or if the awaited judge is no longer awaited.
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

    /// Waits for the end of the grace period, or forever if there is none.
    pub async fn grace_period(&mut self) -> io::Result<()> {
        match &mut self.grace {
            Some(grace) => grace.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())),
            None => std::future::pending().await,
        }
    }

    /// Records that the grace period has ended, or that the kernel refused it.
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

    /// Ends the check of the allow set once no allowed target overlaps a blocked one.
    ///
    /// Packets from blocked sources are checked against the allow set while any overlap exists. A removal may
    /// have ended the last overlap. The check ends only after every packet in flight has seen that removal.
    pub fn look_for_overlap(&mut self, protection: &mut Protection) {
        let latest = protection.latest();
        let last_left = latest.left.max(latest.disallowed);
        let is_under_way = protection.blocklist().is_looking_for_overlap();
        let is_due = self.looked_at.is_none_or(|at| clock::instant().duration_since(at) >= LOOKS_APART);
        let is_new = self.looked < last_left && protection.filter().asks_allow();
        let is_wanted = is_under_way || is_due && is_new;
        // When the search ends, all packets have also seen the removals made since it began.
        if self.graceless || !is_wanted || !self.check_grace(latest.left) {
            return;
        }
        if !is_under_way {
            (self.looked, self.looked_at) = (last_left, Some(clock::instant()));
        }
        if let Err(error) = protection.commit(&Change::LookForOverlap, clock::now()) {
            error!("{}", error.explain());
        }
    }

    /// How often tables, judges or overlaps must be polled, if at all.
    pub fn poll(protection: &Protection) -> Option<Duration> {
        let is_looking = protection.blocklist().is_looking_for_overlap();
        let filter = protection.filter();
        (filter.is_growing() || filter.is_awaiting_judge() || is_looking).then_some(GROWTH_POLL)
    }

    /// Rebuilds tables that have been much too large for a long time.
    pub fn shrink_in_time(&mut self, protection: &mut Protection) {
        let needs = needs::of(protection.blocklist());
        let filter = protection.filter();
        let is_roomy = !filter.is_growing() && filter.is_roomy_for(&needs);
        if self.roominess.update(is_roomy, clock::instant()) {
            self.shrink(protection);
        }
    }

    /// Rebuilds tables that are much too large, and disables features that are no longer needed.
    pub fn shrink(&mut self, protection: &mut Protection) {
        self.roominess = OversizedSince::default();
        let needs = needs::of(protection.blocklist());
        let (filter, blocklist) = protection.parts();
        if let Err(error) = filter.shrink_to(&needs, blocklist).and_then(|()| filter.tidy(&needs)) {
            error!("cannot release memory: {}", error.explain());
        }
    }
}

/// Since when tables have been much larger than needed.
#[derive(Debug, Default)]
struct OversizedSince(Option<Instant>);

impl OversizedSince {
    /// Records the present state, and returns whether tables have been too large for `LONG`.
    fn update(&mut self, is_roomy: bool, now: Instant) -> bool {
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
    fn only_constantly_oversized_tables_count_as_oversized() {
        let (mut roominess, begun) = (OversizedSince::default(), clock::instant());
        assert!(!roominess.update(true, begun));
        assert!(!roominess.update(true, begun + LONG / 2));
        assert!(roominess.update(true, begun + LONG));
        assert!(!roominess.update(false, begun + LONG));
        assert!(!roominess.update(true, begun + LONG), "it begins anew");
    }
}
