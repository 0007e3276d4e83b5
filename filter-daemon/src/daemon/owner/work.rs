//! The loop: what wakes it up, what it does then, and why it ends.

use tokio::net::UnixStream;
use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot};
use tracing::info;

use super::Owner;
use crate::clock;
use crate::control::Call;
use crate::control::wire::reload::Request;
use crate::daemon::error::DaemonError;
use crate::daemon::feeds::Came;
use crate::daemon::lists::Outcomes;
use crate::daemon::reading::Read;
use crate::daemon::turns::Next;
use crate::host::Fact;
use crate::journal::NotWritten;
use crate::kernel::KernelError;

/// What wakes the loop up from outside.
pub struct Signals {
    /// Requests.
    pub calls: mpsc::Receiver<Call>,
    /// SIGHUP.
    pub hangup: Signal,
    /// An interface has changed.
    pub interfaces: mpsc::Receiver<()>,
    /// An address or a route has changed.
    pub addresses: mpsc::Receiver<()>,
    /// A child has ended: the broker is one.
    pub children: Signal,
    /// Another filterd is to take this one's place.
    pub successors: mpsc::Receiver<UnixStream>,
}

/// Why the loop has ended by itself.
pub enum Ended {
    /// Another filterd has told this one to go.
    Asked,
    /// Another one waits to be handed everything; if it comes to nothing, the loop goes on.
    Succeeded(UnixStream),
    /// Without its broker it could change nothing in the kernel any more.
    WithoutBroker(KernelError),
}

/// What the owner has to do when nobody asks for anything.
enum Event {
    /// A page, or what its time has come for.
    Due,
    Successor(UnixStream),
    Hangup,
    ChildEnded,
    InterfaceChanged,
    AddressChanged,
    Facts(Result<Vec<Fact>, String>),
    Loaded(Box<Result<Read, DaemonError>>),
    Kept(Outcomes),
    Fetched(Box<Came>),
    GraceIsOver(std::io::Result<()>),
    Watched,
    Compacted(Result<Result<(), NotWritten>, oneshot::error::RecvError>),
}

impl Owner {
    /// Serves requests, signals and time, until another filterd takes over or the broker is gone.
    pub async fn work(&mut self, signals: &mut Signals) -> Ended {
        self.lists.write_next();
        self.begin_to_fetch();
        self.counting.look(&self.protection);
        loop {
            let next = self.next(signals).await;
            let hands_over = matches!(next, Next::Call(Call::HandOver(_))) && self.would_lose().is_none();
            if !matches!(next, Next::Call(_) | Next::Own(Event::Due)) {
                self.wake();
            }
            match next {
                Next::Call(call) => {
                    self.look_before(&call).await;
                    self.serve(call);
                }
                Next::Own(Event::Due) => self.do_what_is_due().await,
                Next::Own(Event::Successor(successor)) => self.successor = Some(successor),
                Next::Own(Event::ChildEnded) => {
                    if let Some(gone) = self.protection.filter_mut().obituary() {
                        return Ended::WithoutBroker(gone);
                    }
                }
                Next::Own(Event::Hangup) => {
                    info!("SIGHUP received: reloading the configuration");
                    self.read(Request::default(), None);
                }
                Next::Own(Event::Loaded(loaded)) => self.take_reading(*loaded).await,
                Next::Own(Event::Kept(outcomes)) => self.note_copies(outcomes),
                Next::Own(Event::Fetched(came)) => self.note_fetched(*came),
                Next::Own(Event::GraceIsOver(result)) => self.capacity.end_grace(result),
                Next::Own(Event::Compacted(written)) => {
                    self.persistence.compact(self.protection.blocklist(), clock::now(), written);
                }
                Next::Own(Event::InterfaceChanged) => {
                    // Its name, too, is told with its addresses.
                    self.guard.have_changed();
                    _ = self.look_again().await;
                }
                Next::Own(Event::Watched) => self.sampling.mind(&mut self.protection),
                Next::Own(Event::AddressChanged) => self.guard.have_changed(),
                Next::Own(Event::Facts(found)) => self.guard.take(found, &mut self.protection),
            }
            // Out with the answers, before what nobody waits for; and whoever has come meanwhile is heard.
            tokio::task::yield_now().await;
            if hands_over {
                return Ended::Asked;
            }
            self.persistence.write_soon(self.protection.take_records());
            if self.capacity.settle(&mut self.protection) {
                self.wake();
            }
            self.persistence.keep_up(self.protection.blocklist(), clock::now());
            self.capacity.shrink_in_time(&mut self.protection);
            if self.has_nothing_under_way()
                && let Some(successor) = self.successor.take()
            {
                return Ended::Succeeded(successor);
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
            || self.counting.is_due(&self.protection, &self.capacity, is_reloading)
    }

    /// Whoever comes takes turns with what the owner has to do, and of that comes first what happens seldom.
    async fn next(&mut self, signals: &mut Signals) -> Next<Call, Event> {
        let sleep = self.until_deadline();
        let is_due = sleep.is_zero() || self.has_pages_due();
        let Signals { calls, hangup, interfaces, addresses, children, successors } = signals;
        let own = async {
            tokio::select! {
                biased;
                Some(()) = children.recv() => Event::ChildEnded,
                result = self.capacity.grace_period() => Event::GraceIsOver(result),
                loaded = self.readings.read() => Event::Loaded(Box::new(loaded)),
                outcomes = self.lists.written() => Event::Kept(outcomes),
                fetched = self.feeds.fetched() => Event::Fetched(Box::new(fetched)),
                found = self.guard.found() => Event::Facts(found),
                written = self.persistence.compacted() => Event::Compacted(written),
                () = self.sampling.changed() => Event::Watched,
                Some(()) = hangup.recv() => Event::Hangup,
                Some(()) = interfaces.recv() => Event::InterfaceChanged,
                Some(()) = addresses.recv() => Event::AddressChanged,
                Some(successor) = successors.recv() => Event::Successor(successor),
                () = std::future::ready(()), if is_due => Event::Due,
                () = self.alarm.wait(sleep) => Event::Due,
            }
        };
        self.turns.next(calls, own).await
    }
}
