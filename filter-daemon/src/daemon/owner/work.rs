//! The main loop: the events that wake it, its work for each event, and why it ends.

use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot};
use tracing::info;

use super::Owner;
use crate::clock;
use crate::control::Call;
use crate::control::wire::reload::Request;
use crate::daemon::crowdsec::CrowdSecEvent;
use crate::daemon::error::DaemonError;
use crate::daemon::feeds::EndedFetch;
use crate::daemon::reading::ReadResult;
use crate::daemon::turns::NextTurn;
use crate::host::ProtectedAddress;
use crate::journal::NotWritten;
use crate::kernel::KernelError;
use crate::state::SaveOutcome;

/// The external events that wake the loop.
pub struct Signals {
    pub calls: mpsc::Receiver<Call>,
    pub hangup: Signal,
    /// An interface has changed.
    pub interfaces: mpsc::Receiver<()>,
    /// An address or a route has changed.
    pub addresses: mpsc::Receiver<()>,
    /// A child process has ended, possibly the broker.
    pub children: Signal,
}

/// Why the loop has ended by itself.
pub enum LoopEnd {
    /// Another filterd has asked this one to end.
    Asked,
    /// Without the broker, nothing in the kernel can be changed any more.
    WithoutBroker(KernelError),
}

/// Work of the owner that no request asked for.
enum OwnerEvent {
    /// A page of work, or a deadline that has passed.
    Due,
    Hangup,
    ChildEnded,
    InterfaceChanged,
    AddressChanged,
    Facts(Result<Vec<ProtectedAddress>, String>),
    Loaded(Box<Result<ReadResult, DaemonError>>),
    Saved(Option<SaveOutcome>),
    Fetched(Box<EndedFetch>),
    CrowdSec(Box<CrowdSecEvent>),
    GraceIsOver(std::io::Result<()>),
    Watched,
    Compacted(Result<Result<(), NotWritten>, oneshot::error::RecvError>),
}

impl Owner {
    /// Serves requests, signals and timers until another filterd asks this one to end, or the broker ends.
    pub async fn work(&mut self, signals: &mut Signals) -> LoopEnd {
        self.lists.write_next();
        self.begin_to_fetch();
        self.counting.look(&self.protection);
        loop {
            let next = self.next(signals).await;
            if !matches!(next, NextTurn::Call(_) | NextTurn::Own(OwnerEvent::Due)) {
                self.wake();
            }
            match next {
                NextTurn::Call(call) => {
                    self.look_before(&call).await;
                    self.serve(call);
                }
                NextTurn::Own(OwnerEvent::Due) => self.do_what_is_due().await,
                NextTurn::Own(OwnerEvent::ChildEnded) => {
                    if let Some(gone) = self.protection.filter_mut().obituary() {
                        return LoopEnd::WithoutBroker(gone);
                    }
                }
                NextTurn::Own(OwnerEvent::Hangup) => {
                    info!("SIGHUP received: reloading the configuration");
                    self.read(Request::default(), None);
                }
                NextTurn::Own(OwnerEvent::Loaded(loaded)) => self.take_reading(*loaded).await,
                NextTurn::Own(OwnerEvent::Saved(outcomes)) => self.note_copies(outcomes),
                NextTurn::Own(OwnerEvent::Fetched(came)) => self.note_fetched(*came),
                NextTurn::Own(OwnerEvent::CrowdSec(event)) => self.note_crowdsec(*event),
                NextTurn::Own(OwnerEvent::GraceIsOver(result)) => self.capacity.end_grace(result),
                NextTurn::Own(OwnerEvent::Compacted(written)) => {
                    self.persistence.compact(self.protection.blocklist(), clock::now(), written);
                }
                NextTurn::Own(OwnerEvent::InterfaceChanged) => {
                    // A renamed interface may change the reasons that its addresses are guarded for.
                    self.guard.mark_stale();
                    _ = self.look_again().await;
                }
                NextTurn::Own(OwnerEvent::Watched) => self.sampling.mind(&mut self.protection),
                NextTurn::Own(OwnerEvent::AddressChanged) => self.guard.mark_stale(),
                NextTurn::Own(OwnerEvent::Facts(found)) => self.guard.take(found, &mut self.protection),
            }
            // Sends the answers first, before work that no client waits for, and lets new requests arrive.
            tokio::task::yield_now().await;
            self.persistence.write_soon(self.protection.take_records());
            if self.capacity.settle(&mut self.protection) {
                self.wake();
            }
            self.persistence.keep_up(self.protection.blocklist(), clock::now());
            self.capacity.shrink_in_time(&mut self.protection);
            if self.has_nothing_under_way()
                && let Some(successor) = self.successor.take()
                && self.agree_to_end(successor)
            {
                return LoopEnd::Asked;
            }
        }
    }

    fn has_nothing_under_way(&self) -> bool {
        let is_reloading = self.reload.get().is_some() || self.reloaded.is_some();
        self.pages.is_empty() && self.readings.is_idle() && !is_reloading
    }

    fn has_pages_due(&self) -> bool {
        let is_reloading = self.reload.get().is_some();
        self.pages.are_due()
            || self.reload.is_due()
            || self.diff.is_due()
            || self.crowdsec.is_due()
            || self.counting.is_due(&self.protection, &self.capacity, is_reloading)
    }

    /// The next event. Requests and the owner's own work take turns; of the own work, rare events come first.
    async fn next(&mut self, signals: &mut Signals) -> NextTurn<Call, OwnerEvent> {
        let sleep = self.until_deadline();
        let is_due = sleep.is_zero() || self.has_pages_due();
        let Signals { calls, hangup, interfaces, addresses, children } = signals;
        let own = async {
            tokio::select! {
                biased;
                Some(()) = children.recv() => OwnerEvent::ChildEnded,
                result = self.capacity.grace_period() => OwnerEvent::GraceIsOver(result),
                loaded = self.readings.read() => OwnerEvent::Loaded(Box::new(loaded)),
                outcomes = self.lists.written() => OwnerEvent::Saved(outcomes),
                fetched = self.feeds.fetched() => OwnerEvent::Fetched(Box::new(fetched)),
                event = self.crowdsec.ended() => OwnerEvent::CrowdSec(Box::new(event)),
                found = self.guard.found() => OwnerEvent::Facts(found),
                written = self.persistence.compacted() => OwnerEvent::Compacted(written),
                () = self.sampling.changed() => OwnerEvent::Watched,
                Some(()) = hangup.recv() => OwnerEvent::Hangup,
                Some(()) = interfaces.recv() => OwnerEvent::InterfaceChanged,
                Some(()) = addresses.recv() => OwnerEvent::AddressChanged,
                () = std::future::ready(()), if is_due => OwnerEvent::Due,
                () = self.alarm.wait(sleep) => OwnerEvent::Due,
            }
        };
        self.turns.next(calls, own).await
    }
}
