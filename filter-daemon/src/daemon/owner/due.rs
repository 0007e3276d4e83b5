//! Does work that is due: pages, expiry, and regular checks.

use std::time::Duration;

use super::Owner;
use crate::clock;
use crate::daemon::capacity::Capacity;
use crate::daemon::pages::OwnerParts;
use crate::daemon::turns::LastCheck;
use crate::host::ProtectedAddress;

/// A change of the system clock during a wait is noticed within a minute.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

impl Owner {
    /// The time until work is due.
    pub(super) fn until_deadline(&self) -> Duration {
        let polls =
            [Capacity::poll(&self.protection), self.pages.poll(), self.reload.poll(), self.crowdsec.poll()];
        let poll = polls.into_iter().flatten().fold(LONGEST_SLEEP, Duration::min);
        let expiry = self.expiry.until_due(&self.protection, &self.capacity);
        let (persistence, interfaces) = (self.persistence.until_due(), self.interfaces.until_due());
        let deadlines = [
            expiry,
            persistence,
            interfaces,
            self.pause.until_due(),
            self.configuration.trial.until_due(),
            self.counting.until_due(),
            Some(self.traffic.until_due()),
            Some(self.guard.until_due()),
            self.feeds.until_due(),
            self.crowdsec.until_due(),
            self.databases.until_due(),
            self.lists.until_due(),
            self.notify.until_due(),
            self.sampling.until_due(),
        ];
        let minded = self.minded.until(poll, clock::instant());
        deadlines.into_iter().flatten().fold(minded, Duration::min)
    }

    pub(super) async fn do_what_is_due(&mut self) {
        if self.until_deadline().is_zero() {
            self.wake();
            self.mind_deadlines().await;
        }
        self.turn_page().await;
    }

    /// Wakes work that waits, after an event that it may have waited for.
    pub(super) fn wake(&mut self) {
        self.pages.wake();
        self.reload.wake();
        self.crowdsec.wake();
    }

    async fn mind_deadlines(&mut self) {
        self.minded = LastCheck(clock::instant());
        self.tell_manager();
        if self.time.look() {
            self.persistence.note_time();
            self.lists.renew();
        }
        self.mind_sleep();
        if self.guard.until_due().is_zero() {
            self.guard.follow_servers(self.servers());
        }
        self.guard.mind(&mut self.protection);
        self.feeds.mind(|| self.guard.own());
        self.crowdsec.mind(self.configuration.trial.is_on(), &self.protection);
        if self.crowdsec.must_report() {
            let snapshot = self.snapshot();
            self.crowdsec.report(&snapshot, self.counting.dropped_by_list(&self.protection), false);
        }
        self.mind_databases();
        self.write_copies_again();
        self.mind_pause();
        self.mind_trial();
        self.counting.look(&self.protection);
        self.expiry.expire(&mut self.protection, &mut self.capacity);
        self.sampling.look(&mut self.protection, || self.interfaces.sampled());
        self.capacity.look_for_overlap(&mut self.protection);
        if self.interfaces.must_retry() {
            self.look_again().await;
        } else if self.interfaces.until_due().is_some_and(|left| left.is_zero()) {
            self.look_at_links().await;
        }
        if self.traffic.until_due().is_zero() {
            self.look_at_traffic().await;
        }
    }

    /// The servers that filterd asks, which lists must not block.
    pub(in crate::daemon) fn servers(&self) -> Vec<ProtectedAddress> {
        [self.feeds.facts(), self.crowdsec.facts()].concat()
    }

    /// Reports to the service manager that the loop runs, and a summary.
    fn tell_manager(&mut self) {
        let mut notify = std::mem::take(&mut self.notify);
        notify.alive(|| self.summary());
        self.notify = notify;
    }

    async fn turn_page(&mut self) {
        let mut parts = OwnerParts {
            protection: &mut self.protection,
            capacity: &mut self.capacity,
            persistence: &mut self.persistence,
            sources: &self.lists.sources,
        };
        if self.pages.are_due() {
            self.pages.turn(&mut parts);
        }
        if self.counting.is_due(parts.protection, parts.capacity, self.reload.get().is_some()) {
            self.counting.turn(&mut parts);
        }
        self.crowdsec.turn(&mut parts);
        let (reload, diff) = (self.reload.turn(&mut parts), self.diff.turn(&mut parts));
        if let Some(reload) = reload {
            self.finish_reload(reload).await;
        }
        if let Some(diff) = diff {
            self.end_diff(Ok(diff.into_reply()));
        }
    }
}
