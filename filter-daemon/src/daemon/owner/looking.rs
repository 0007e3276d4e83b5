//! Interfaces, links, pins, the judge's slot and the tables: attached to, and looked at again, since others can take away what
//! is ours.

use std::time::Duration;

use tracing::{info, warn};

use super::Owner;
use crate::clock;
use crate::control::Call;
use crate::daemon::error::DaemonError;
use crate::kernel::{KernelError, Tampering};
use crate::text::Explain;

/// To look costs more than to add: whoever adds much is told what was so a moment ago.
const FRESH: Duration = Duration::from_millis(100);

impl Owner {
    /// Attaches to every interface that is there; if all that are there refuse, leaves the kernel as it was found.
    pub async fn attach(&mut self) -> Result<(), DaemonError> {
        let (names, mode) = (self.interface_names(), self.mode());
        let filter = self.protection.filter_mut();
        self.flows.follow(filter);
        let attached = self.interfaces.attach(names, mode, filter).await;
        // What was begun since it was looked, and before the egress program was there.
        self.flows.seed(filter);
        if attached.is_err() {
            filter.rollback()?;
        } else if !self.config.enforce {
            warn!("enforce is false: packets are counted, not dropped");
        }
        attached
    }

    /// Looks at all interfaces, and makes of them what they should be. Tells why some refuse.
    pub(in crate::daemon) async fn look_again(&mut self) -> Vec<KernelError> {
        let mode = self.mode();
        let before = self.interfaces.filtered();
        let refused = self.interfaces.look_again(mode, self.protection.filter_mut()).await;
        let tampered = self.interfaces.take_tampered();
        tampered.into_iter().for_each(|tampering| self.tampered.note(tampering, clock::now()));
        if self.interfaces.filtered() != before {
            self.flows.seed(self.protection.filter_mut());
        }
        self.let_go();
        self.note_attached();
        refused
    }

    /// A driver may have forgotten its filter while the machine slept. Where it cannot be given anew, the next look tries again.
    pub(super) fn mind_sleep(&mut self) {
        let Some(asleep) = self.sleep.slept() else { return };
        match self.protection.filter_mut().renew() {
            Ok(program) => {
                self.sleep.is_seen_to(asleep);
                self.interfaces.are_given(program);
                info!("the machine was asleep: the filter was attached to its interfaces again");
            }
            Err(error) => self.sleep.has_failed(error.explain(), clock::now()),
        }
    }

    /// The next filterd to begin here is to know whether a filter is to be there.
    pub fn note_attached(&mut self) {
        self.pinned.note_attached(!self.interfaces.filtered().is_empty());
    }

    /// Takes the filter off what the configuration does not name, if nothing speaks against it.
    pub fn let_go(&mut self) {
        self.interfaces.let_go(self.protection.filter_mut());
    }

    /// Whether the tables say what was written into them. If not, all of them are made anew out of what is wanted.
    fn look_at_tables(&mut self) {
        let Some(damage) = self.protection.damage(self.tampered.next_look()) else { return };
        match self.protection.make_anew() {
            Ok(()) => self.tampered.note(Tampering::Tables(damage), clock::now()),
            // The next look tries again.
            Err(error) => {
                tracing::error!("tampered with: {damage}; cannot rebuild the tables: {}", error.explain())
            }
        }
    }

    /// Those who are told what packets meet are told what is so at this moment.
    pub(super) async fn look_before(&mut self, call: &Call) {
        // What is to be blocked may be what somebody has come from since.
        let blocks = matches!(call, Call::Add(_) | Call::Reload(_) | Call::Rollback(_));
        if blocks || matches!(call, Call::Diff(_) | Call::Status(_) | Call::Test(_)) {
            self.guard.hear(&mut self.protection);
        }
        let is_asked = matches!(call, Call::Status(_) | Call::Test(_) | Call::Snapshot(_));
        if is_asked || matches!(call, Call::Add(_) | Call::Allow(_)) && self.interfaces.age() > FRESH {
            self.look_at_links().await;
        }
        if matches!(call, Call::Status(_) | Call::Stats(_) | Call::Snapshot(_)) {
            self.look_at_traffic().await;
        }
    }

    /// What is counted on the interfaces that are filtered.
    pub(super) async fn look_at_traffic(&mut self) {
        // What cannot be asked is not told here; `stats` says why.
        let counted = self.protection.filter_mut().counted().unwrap_or_default();
        self.traffic.look(&self.interfaces.filtered(), &counted).await;
    }

    /// Asks the kernel whether pins, the judge's slot, tables and links are as they were left; puts right what is not.
    pub(in crate::daemon) async fn look_at_links(&mut self) {
        if let Some(mended) = self.pinned.look(self.protection.filter_mut()) {
            self.tampered.set_owner(mended.owner);
            mended.tampered.into_iter().for_each(|tampering| self.tampered.note(tampering, clock::now()));
            if mended.egress {
                // What was begun while the egress program was off.
                self.flows.seed(self.protection.filter_mut());
            }
        }
        self.look_at_tables();
        if !self.interfaces.are_as_left(self.protection.filter_mut()) {
            self.look_again().await;
        }
    }
}
