//! Sends events to clients that watch. Nothing waits for them: slow clients lose events, and receive the
//! number of lost events.

use std::sync::Arc;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, broadcast, watch};

use super::wire::Failure;
use super::wire::watch::{Drop as Dropped, Event, Request};
use crate::clock;
use crate::text::Explanation;

/// The most clients that watch at once. Each may lag by some MiB.
const MOST: usize = 8;

/// How many events are kept for slow clients, mostly a kilobyte each.
const KEPT: usize = 1024;

/// How many drops are kept: half a second of a flood, half a kilobyte each.
const DROPS_KEPT: usize = 4096;

/// The senders of events. Clones have the same receivers.
#[derive(Clone, Debug)]
pub struct Watching {
    events: broadcast::Sender<Event>,
    drops: broadcast::Sender<Arc<SampledDrop>>,
    sampling: watch::Sender<SamplingState>,
    /// Signals that a client began or ended to watch drops.
    changed: Arc<Notify>,
    places: Arc<Semaphore>,
}

/// A sampled drop, with the first bytes of its frame.
#[derive(Debug)]
pub struct SampledDrop {
    /// The time by the kernel's clock, in nanoseconds since boot.
    pub at: u64,
    /// The drop without its frame.
    pub told: Dropped,
    /// The first bytes of the frame.
    pub frame: Vec<u8>,
    /// How many of these bytes are headers.
    pub headers: usize,
}

/// How much of a frame a client may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDepth {
    /// Only headers. A group that may block and unblock need not see the content of packets.
    Headers,
    /// All bytes that were sampled.
    Whole,
}

impl SampledDrop {
    /// The part of the frame that the client may see. Frames that pass are never shown, because a client that
    /// may pause protection could otherwise read all traffic.
    pub fn frame(&self, depth: FrameDepth) -> Option<&[u8]> {
        let shown = match depth {
            FrameDepth::Headers => self.frame.get(..self.headers).unwrap_or(&self.frame),
            FrameDepth::Whole => &self.frame,
        };
        (self.told.outcome == DROPPED).then_some(shown)
    }
}

/// The outcome of a packet that is dropped.
const DROPPED: &str = "drop";

/// Whether the kernel samples drops.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SamplingState {
    /// No client wants samples.
    #[default]
    Off,
    /// The kernel writes samples.
    On,
    /// Sampling failed to begin.
    Refused(Explanation),
}

/// A client that watches.
pub struct Watcher {
    /// The receiver of changes, if they are wanted.
    pub events: Option<broadcast::Receiver<Event>>,
    /// The receiver of drops, if they are wanted.
    pub drops: Option<broadcast::Receiver<Arc<SampledDrop>>>,
    /// When the client began, by the kernel's clock.
    since: u64,
    sampling: watch::Receiver<SamplingState>,
    changed: Arc<Notify>,
    _place: OwnedSemaphorePermit,
}

impl Default for Watching {
    fn default() -> Self {
        Self {
            events: broadcast::Sender::new(KEPT),
            drops: broadcast::Sender::new(DROPS_KEPT),
            sampling: watch::Sender::default(),
            changed: Arc::default(),
            places: Arc::new(Semaphore::new(MOST)),
        }
    }
}

impl Watching {
    /// Sends an event to all clients that watch. Without clients, the event is not even made.
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        if self.events.receiver_count() > 0 {
            // The last client may have ended at this moment.
            _ = self.events.send(event());
        }
    }

    /// Sends a drop to all clients that watch drops.
    pub fn tell_drop(&self, seen: Arc<SampledDrop>) {
        // The last client may have ended at this moment.
        _ = self.drops.send(seen);
    }

    /// Whether a client watches drops.
    pub fn wants_drops(&self) -> bool {
        self.drops.receiver_count() > 0
    }

    /// Sets whether the kernel samples drops.
    pub fn samples(&self, state: SamplingState) {
        self.sampling.send_replace(state);
    }

    /// Waits until a client begins or ends to watch drops.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Adds a client, unless too many watch already.
    pub fn watch(&self, request: &Request) -> Result<Watcher, Failure> {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            let message = format!("there are {MOST} watching clients already");
            return Err(Failure::Unavailable(Explanation::new(message, "end another `filterd watch`")));
        };
        if request.drops {
            // If sampling was refused before, it is tried again.
            self.sampling.send_if_modified(|state| {
                matches!(state, SamplingState::Refused(_)).then(|| *state = SamplingState::Off).is_some()
            });
        }
        let watcher = Watcher {
            events: request.changes.then(|| self.events.subscribe()),
            drops: request.drops.then(|| self.drops.subscribe()),
            since: clock::kernel_now(),
            sampling: self.sampling.subscribe(),
            changed: self.changed.clone(),
            _place: place,
        };
        self.changed.notify_one();
        Ok(watcher)
    }
}

impl Watcher {
    /// Whether the drop is newer than this client. While others watch, the ring also holds earlier drops.
    pub fn is_new(&self, seen: &SampledDrop) -> bool {
        seen.at >= self.since
    }

    /// Waits until sampling works, if drops are wanted. Returns why it does not.
    pub async fn begins(&mut self) -> Option<Explanation> {
        self.drops.as_ref()?;
        match self.sampling.wait_for(|state| *state != SamplingState::Off).await.as_deref() {
            Ok(SamplingState::Refused(why)) => Some(why.clone()),
            Ok(SamplingState::On | SamplingState::Off) | Err(_) => None,
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.drops = None;
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> Request {
        Request { changes: true, drops: true, frames: false, list: None, length: None, count: None }
    }

    #[test]
    fn slow_watcher_loses_events_and_delays_nothing() {
        let watching = Watching::default();
        watching.tell(|| unreachable!("nobody watches"));
        let mut slow = watching.watch(&both()).unwrap();
        let slow = slow.events.as_mut().unwrap();
        (0..KEPT as u64 + 7).for_each(|at| watching.tell(|| Event { at, ..Event::default() }));
        assert!(matches!(slow.try_recv(), Err(broadcast::error::TryRecvError::Lagged(7))));
        assert_eq!(slow.try_recv().unwrap().at, 7);
    }

    #[test]
    fn ninth_watcher_is_refused() {
        let watching = Watching::default();
        let mut watchers: Vec<_> = (0..MOST).map(|_| watching.watch(&both()).unwrap()).collect();
        assert!(matches!(watching.watch(&both()), Err(Failure::Unavailable(_))));
        watchers.pop();
        assert!(watching.watch(&both()).is_ok());
    }

    #[test]
    fn new_watcher_sees_no_earlier_drops() {
        let watching = Watching::default();
        let seen = |at| SampledDrop { at, told: Dropped::default(), frame: Vec::new(), headers: 0 };
        let (before, watcher, after) =
            (clock::kernel_now(), watching.watch(&both()).unwrap(), clock::kernel_now());
        assert!(!watcher.is_new(&seen(before - 1)));
        assert!(watcher.is_new(&seen(after)));
    }

    #[tokio::test]
    async fn drops_are_sampled_while_someone_watches() {
        let watching = Watching::default();
        let changes = watching.watch(&Request { drops: false, ..both() }).unwrap();
        assert!(!watching.wants_drops());
        let mut one = watching.watch(&both()).unwrap();
        watching.changed().await;
        assert!(watching.wants_drops());
        watching.samples(SamplingState::Refused("because".into()));
        assert_eq!(one.begins().await, Some("because".into()));
        let mut other = watching.watch(&both()).unwrap();
        watching.samples(SamplingState::On);
        assert_eq!(other.begins().await, None);
        drop((one, changes));
        assert!(watching.wants_drops());
        drop(other);
        watching.changed().await;
        assert!(!watching.wants_drops());
    }

    #[test]
    fn frames_of_passing_packets_are_hidden() {
        let seen = |outcome: &str| SampledDrop {
            at: 0,
            told: Dropped { outcome: outcome.to_owned(), ..Dropped::default() },
            frame: b"headerswords".to_vec(),
            headers: 7,
        };
        assert_eq!(seen("drop").frame(FrameDepth::Whole), Some(&b"headerswords"[..]));
        assert_eq!(seen("drop").frame(FrameDepth::Headers), Some(&b"headers"[..]));
        for outcome in ["would_drop", "paused", ""] {
            assert_eq!(seen(outcome).frame(FrameDepth::Whole), None, "{outcome}");
        }
    }
}
