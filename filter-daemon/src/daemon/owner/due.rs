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
        let polls = [Capacity::poll(&self.core.protection), jobs];
        let interval = polls.into_iter().flatten().fold(LONGEST_SLEEP, Duration::min);
        let parts = [
            self.core.until_due(),
            self.attachment.interfaces.until_due(),
            self.pause.until_due(),
            self.configuration.trial.until_due(),
            self.counters.until_due(),
            Some(self.guard.until_due()),
            self.sources.until_due(),
            self.crowdsec.until_due(),
            self.process.notify.until_due(),
        ];
        let clocks = self.clocks.until_due(&self.core, interval, clock::instant());
        parts.into_iter().flatten().fold(clocks, Duration::min)
    }

    /// Does everything whose time has come.
    pub(super) async fn mind_deadlines(&mut self) {
        self.clocks.minded = LastCheck(clock::instant());
        self.tell_manager();
        if self.clocks.time.look() {
            self.core.persistence.note_time();
            self.core.lists.renew();
        }
        self.mind_sleep();
        if self.guard.until_due().is_zero() {
            self.guard.follow_servers(self.servers());
        }
        self.guard.mind(&mut self.core.protection);
        self.sources.feeds.mind(|| self.guard.own());
        if self.crowdsec.mind(self.configuration.trial.is_on()) {
            self.enforce_decisions();
        }
        if self.crowdsec.must_report() {
            let snapshot = self.snapshot();
            self.crowdsec.report(
                &snapshot,
                self.counters.counting.dropped_by_list(&self.core.protection),
                false,
            );
        }
        self.mind_databases();
        self.write_copies_again();
        self.mind_pause();
        self.mind_trial();
        self.counters.counting.look(&self.core.protection);
        self.clocks.expiry.expire(&mut self.core.protection, &mut self.core.capacity);
        self.counters.sampling.look(&mut self.core.protection, || self.attachment.interfaces.sampled());
        self.core.capacity.look_for_overlap(&mut self.core.protection);
        if self.attachment.interfaces.must_retry() {
            self.look_again().await;
        } else if self.attachment.interfaces.until_due().is_some_and(|left| left.is_zero()) {
            self.look_at_links().await;
        }
        if self.counters.traffic.until_due().is_zero() {
            self.look_at_traffic().await;
        }
    }

    /// The servers that filterd asks, which lists must not block.
    pub(in crate::daemon) fn servers(&self) -> Vec<ProtectedAddress> {
        [self.sources.feeds.facts(), self.crowdsec.facts()].concat()
    }

    /// Reports to the service manager that the loop runs, and a summary.
    fn tell_manager(&mut self) {
        let mut notify = std::mem::take(&mut self.process.notify);
        notify.alive(|| self.summary());
        self.process.notify = notify;
    }

    /// Whether a page of counting is due.
    pub(super) fn must_count(&self) -> bool {
        self.counters.counting.is_due(
            &self.core.protection,
            &self.core.capacity,
            self.core.activity.is_some(),
        )
    }

    /// Does a page of counting if one is due.
    pub(super) fn count_page(&mut self) {
        if self.must_count() {
            self.counters.counting.turn(&mut self.core.protection, &mut self.core.capacity);
        }
    }
}
