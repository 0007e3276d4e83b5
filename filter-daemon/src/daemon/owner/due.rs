//! Does work that is due: expiry and regular checks.

use std::time::Duration;

use super::Owner;
use crate::clock;
use crate::daemon::capacity::Capacity;
use crate::daemon::turns::LastCheck;
use crate::host::ProtectedAddress;

/// A change of the system clock during a wait is noticed within a minute.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

impl Owner {
    /// The time until work is due, beside that of jobs which are tried again at this interval.
    pub(super) fn until_deadline(&self, jobs: Option<Duration>) -> Duration {
        let polls = [Capacity::poll(&self.protection), jobs];
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

    /// Does everything whose time has come.
    pub(super) async fn mind_deadlines(&mut self) {
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
        if self.crowdsec.mind(self.configuration.trial.is_on()) {
            self.enforce_decisions();
        }
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

    /// Whether a page of counting is due.
    pub(super) fn must_count(&self) -> bool {
        self.counting.is_due(&self.protection, &self.capacity, self.activity.is_some())
    }

    /// Does a page of counting if one is due.
    pub(super) fn count_page(&mut self) {
        if self.must_count() {
            self.counting.turn(&mut self.protection, &mut self.capacity);
        }
    }
}
