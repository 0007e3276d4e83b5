//! The main loop: the events that wake it, its work for each event, and why it ends.

use std::sync::Arc;

use tokio::signal::unix::Signal;
use tokio::sync::{Mutex, mpsc, oneshot};
use tracing::info;

use super::Owner;
use crate::clock;
use crate::control::Call;
use crate::control::wire::reload::Request;
use crate::daemon::alarm::Alarm;
use crate::daemon::crowdsec::CrowdSecEvent;
use crate::daemon::feeds::EndedFetch;
use crate::daemon::jobs::{Jobs, JobsOutlook};
use crate::daemon::turns::{NextTurn, Turns};
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
    /// The timer of the next deadline.
    pub alarm: Alarm,
    /// Requests and the owner's own work take turns.
    pub turns: Turns,
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
    /// A job's turn, or a deadline that has passed.
    Due,
    Hangup,
    ChildEnded,
    InterfaceChanged,
    AddressChanged,
    Facts(Result<Vec<ProtectedAddress>, String>),
    Saved(Option<SaveOutcome>),
    Fetched(Box<EndedFetch>),
    CrowdSec(Box<CrowdSecEvent>),
    GraceIsOver(std::io::Result<()>),
    /// Something that a job awaits has happened.
    JobWoken,
    Watched,
    Compacted(Result<Result<(), NotWritten>, oneshot::error::RecvError>),
}

/// Serves requests, signals and timers until another filterd asks this one to end, or the broker ends.
pub async fn work(shared: &Arc<Mutex<Owner>>, signals: &mut Signals) -> LoopEnd {
    let mut jobs = Jobs::of(shared.clone());
    shared.lock().await.begin_work();
    loop {
        let new = std::mem::take(&mut shared.lock().await.jobs);
        if !new.is_empty() {
            // These may begin others.
            jobs.begin(new).await;
            continue;
        }
        // Sends the answers first, before work that no client waits for, and lets new requests arrive.
        tokio::task::yield_now().await;
        let mut owner = shared.lock().await;
        if owner.settle_changes() {
            jobs.wake();
        }
        if jobs.is_empty() && owner.ends_for_another() {
            return LoopEnd::Asked;
        }
        match owner.next(signals, jobs.outlook()).await {
            NextTurn::Call(call) => {
                owner.look_before(&call).await;
                owner.serve(call);
            }
            NextTurn::Own(OwnerEvent::Due) => {
                if owner.until_deadline(jobs.poll()).is_zero() {
                    jobs.wake();
                    owner.mind_deadlines().await;
                }
                owner.count_page();
                drop(owner);
                jobs.turn().await;
            }
            NextTurn::Own(event) => {
                jobs.wake();
                if let Some(end) = owner.note(event).await {
                    return end;
                }
            }
        }
    }
}

impl Owner {
    fn begin_work(&mut self) {
        self.core.lists.write_next();
        self.begin_to_fetch();
        self.counters.counting.look(&self.core.protection);
    }

    async fn note(&mut self, event: OwnerEvent) -> Option<LoopEnd> {
        match event {
            OwnerEvent::Due | OwnerEvent::JobWoken => {}
            OwnerEvent::ChildEnded => {
                return self.core.protection.filter_mut().obituary().map(LoopEnd::WithoutBroker);
            }
            OwnerEvent::Hangup => {
                info!("SIGHUP received: reloading the configuration");
                self.read(Request::default(), None);
            }
            OwnerEvent::Saved(outcome) => self.note_copies(outcome),
            OwnerEvent::Fetched(came) => self.note_fetched(*came),
            OwnerEvent::CrowdSec(event) => self.note_crowdsec(*event),
            OwnerEvent::GraceIsOver(result) => self.core.capacity.end_grace(result),
            OwnerEvent::Compacted(written) => {
                self.core.persistence.compact(self.core.protection.blocklist(), clock::now(), written);
            }
            OwnerEvent::InterfaceChanged => {
                // A renamed interface may change the reasons that its addresses are guarded for.
                self.guard.mark_stale();
                _ = self.look_again().await;
            }
            OwnerEvent::Watched => self.counters.sampling.mind(&mut self.core.protection),
            OwnerEvent::AddressChanged => self.guard.mark_stale(),
            OwnerEvent::Facts(found) => self.guard.take(found, &mut self.core.protection),
        }
        None
    }

    /// Completes what an event has changed. Returns true if jobs that wait can go on.
    fn settle_changes(&mut self) -> bool {
        self.core.persistence.write_soon(self.core.protection.take_records());
        let can_go_on = self.core.capacity.settle(&mut self.core.protection);
        self.core.persistence.keep_up(self.core.protection.blocklist(), clock::now());
        self.core.capacity.shrink_in_time(&mut self.core.protection);
        can_go_on
    }

    /// Whether another filterd has asked this one to end, and may replace it.
    fn ends_for_another(&mut self) -> bool {
        self.sources.readings.is_idle()
            && self.process.successor.take().is_some_and(|successor| self.agree_to_end(successor))
    }

    /// The next event. Requests and the owner's own work take turns; of the own work, rare events come first.
    async fn next(&mut self, signals: &mut Signals, jobs: JobsOutlook) -> NextTurn<Call, OwnerEvent> {
        let sleep = self.until_deadline(jobs.poll);
        let is_due = sleep.is_zero() || jobs.are_due || self.must_count();
        let Signals { calls, hangup, interfaces, addresses, children, alarm, turns } = signals;
        let own = async {
            tokio::select! {
                biased;
                Some(()) = children.recv() => OwnerEvent::ChildEnded,
                result = self.core.capacity.grace_period() => OwnerEvent::GraceIsOver(result),
                () = jobs.woken() => OwnerEvent::JobWoken,
                outcomes = self.core.lists.written() => OwnerEvent::Saved(outcomes),
                fetched = self.sources.feeds.fetched() => OwnerEvent::Fetched(Box::new(fetched)),
                event = self.crowdsec.ended() => OwnerEvent::CrowdSec(Box::new(event)),
                found = self.guard.found() => OwnerEvent::Facts(found),
                written = self.core.persistence.compacted() => OwnerEvent::Compacted(written),
                () = self.counters.sampling.changed() => OwnerEvent::Watched,
                Some(()) = hangup.recv() => OwnerEvent::Hangup,
                Some(()) = interfaces.recv() => OwnerEvent::InterfaceChanged,
                Some(()) = addresses.recv() => OwnerEvent::AddressChanged,
                () = std::future::ready(()), if is_due => OwnerEvent::Due,
                () = alarm.wait(sleep) => OwnerEvent::Due,
            }
        };
        turns.next(calls, own).await
    }
}
