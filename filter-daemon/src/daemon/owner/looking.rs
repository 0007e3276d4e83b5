//! Attaches to interfaces, and checks links, pins, the judge's slot and the tables regularly, because other
//! programs can change them.

use std::time::Duration;

use tracing::{info, warn};

use super::Owner;
use crate::clock;
use crate::control::Call;
use crate::daemon::error::DaemonError;
use crate::kernel::{KernelError, Tampering};
use crate::text::Explain;

/// A check costs more than an addition. Within this time, additions rely on the last check.
const FRESH: Duration = Duration::from_millis(100);

impl Owner {
    /// Attaches to every interface that exists. If all of them refuse, restores the kernel to its earlier
    /// state.
    pub async fn attach(&mut self) -> Result<(), DaemonError> {
        let (names, mode) = (self.interface_names(), self.mode());
        let filter = self.core.protection.filter_mut();
        self.attachment.flows.follow(filter);
        let attached = self.attachment.interfaces.attach(names, mode, filter).await;
        // Adds flows that began after the first look, and before the egress program was attached.
        self.attachment.flows.seed(filter);
        if attached.is_err() {
            filter.rollback()?;
        } else if let Some(told) = mode.warning() {
            warn!("{told}");
        }
        if attached.is_ok() && !self.configuration.config.enforce {
            warn!("enforce is false: packets are counted, not dropped");
        }
        attached
    }

    /// Reads all interfaces and attaches where that is needed. Returns the errors of those that refused.
    pub(in crate::daemon) async fn look_again(&mut self) -> Vec<KernelError> {
        let mode = self.mode();
        let before = self.attachment.interfaces.filtered();
        let refused = self.attachment.interfaces.look_again(mode, self.core.protection.filter_mut()).await;
        let tampered = self.attachment.interfaces.take_tampered();
        tampered.into_iter().for_each(|tampering| self.attachment.tampered.note(tampering, clock::now()));
        if self.attachment.interfaces.filtered() != before {
            self.attachment.flows.seed(self.core.protection.filter_mut());
        }
        self.let_go();
        self.note_attached();
        refused
    }

    /// Attaches the filter again after the machine slept, because a driver may have lost it. If that fails,
    /// the next check tries again.
    pub(super) fn mind_sleep(&mut self) {
        let Some(asleep) = self.clocks.sleep.slept() else { return };
        match self.core.protection.filter_mut().renew() {
            Ok(program) => {
                self.clocks.sleep.note_handled(asleep);
                self.attachment.interfaces.set_program(program);
                info!("the machine was asleep: the filter was attached to its interfaces again");
            }
            Err(error) => self.clocks.sleep.note_failure(error.explain(), clock::now()),
        }
    }

    /// Stores whether a filter is attached, so that the next filterd that starts here can report a gap.
    pub fn note_attached(&mut self) {
        self.attachment.pinned.note_attached(!self.attachment.interfaces.filtered().is_empty());
    }

    /// Detaches from interfaces that the configuration does not name, unless they are held back.
    pub fn let_go(&mut self) {
        self.attachment.interfaces.let_go(self.core.protection.filter_mut());
    }

    /// Checks the content of the tables. If it is damaged, all tables are rebuilt from the blocklist.
    fn look_at_tables(&mut self) {
        let Some(damage) = self.core.protection.damage(self.attachment.tampered.next_look()) else { return };
        match self.core.protection.make_anew() {
            Ok(()) => self.attachment.tampered.note(Tampering::Tables(damage), clock::now()),
            // The next check tries again.
            Err(error) => {
                tracing::error!("tampered with: {damage}; cannot rebuild the tables: {}", error.explain())
            }
        }
    }

    /// Checks the present state before requests whose answer depends on it.
    pub(super) async fn look_before(&mut self, call: &Call) {
        // An addition or a reload may block an address that someone has connected from since.
        let blocks = matches!(call, Call::Add(_) | Call::Reload(_) | Call::Rollback(_));
        if blocks || matches!(call, Call::Diff(_) | Call::Status(_) | Call::Test(_)) {
            self.guard.hear(&mut self.core.protection);
        }
        let is_asked = matches!(call, Call::Status(_) | Call::Test(_) | Call::Snapshot(_));
        if is_asked
            || matches!(call, Call::Add(_) | Call::Allow(_)) && self.attachment.interfaces.age() > FRESH
        {
            self.look_at_links().await;
        }
        if matches!(call, Call::Status(_) | Call::Stats(_) | Call::Snapshot(_)) {
            self.look_at_traffic().await;
        }
    }

    /// Reads the traffic counters of filtered interfaces.
    pub(super) async fn look_at_traffic(&mut self) {
        // A failed read is not reported here; `stats` reports it.
        let counted = self.core.protection.filter_mut().counted().unwrap_or_default();
        self.counters.traffic.look(&self.attachment.interfaces.filtered(), &counted).await;
    }

    /// Checks that pins, the judge's slot, tables and links are unchanged, and repairs them if not.
    pub(in crate::daemon) async fn look_at_links(&mut self) {
        if let Some(mended) = self.attachment.pinned.look(self.core.protection.filter_mut()) {
            self.attachment.tampered.set_owner(mended.owner);
            mended
                .tampered
                .into_iter()
                .for_each(|tampering| self.attachment.tampered.note(tampering, clock::now()));
            if mended.egress {
                // Adds flows that began while the egress program was detached.
                self.attachment.flows.seed(self.core.protection.filter_mut());
            }
        }
        self.look_at_tables();
        if !self.attachment.interfaces.check_links(self.core.protection.filter_mut()) {
            self.look_again().await;
        }
    }
}
