//! Those who watch what happens. Nobody waits for them: who is too slow loses events, and is told how many.

use std::sync::Arc;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, broadcast, watch};

use super::wire::Failure;
use super::wire::watch::{Drop as Dropped, Event, Request};
use crate::clock;
use crate::text::Explanation;

/// Watchers at once; each may be some MiB behind.
const MOST: usize = 8;

/// Events that are kept for those who have not read them yet, a kilobyte each at most times.
const KEPT: usize = 1024;

/// The same of drops: half a second's of a flood, half a kilobyte each.
const DROPS_KEPT: usize = 4096;

/// Where events go; clones tell the same watchers.
#[derive(Clone, Debug)]
pub struct Watching {
    events: broadcast::Sender<Event>,
    drops: broadcast::Sender<Arc<Seen>>,
    sampling: watch::Sender<State>,
    /// Somebody has come to watch drops, or has gone.
    changed: Arc<Notify>,
    places: Arc<Semaphore>,
}

/// A drop that was told in full, with the first bytes of its frame.
#[derive(Debug)]
pub struct Seen {
    /// When, as the kernel reckons: in nanoseconds since boot.
    pub at: u64,
    /// Without the frame.
    pub told: Dropped,
    /// Its first bytes,
    pub frame: Vec<u8>,
    /// of which so many are headers.
    pub headers: usize,
}

/// What of frames a watcher may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Only headers: others' words are none of the business of a group that blocks and unblocks.
    Headers,
    /// All that was taken of it.
    Whole,
}

impl Seen {
    /// As much of the frame as somebody may see. Nothing of what passes: whoever may pause protection could read all traffic else.
    pub fn frame(&self, depth: Depth) -> Option<&[u8]> {
        let shown = match depth {
            Depth::Headers => self.frame.get(..self.headers).unwrap_or(&self.frame),
            Depth::Whole => &self.frame,
        };
        (self.told.outcome == DROPPED).then_some(shown)
    }
}

/// The outcome of what does not reach anybody.
const DROPPED: &str = "drop";

/// Does the kernel tell drops in full?
#[derive(Clone, Debug, Default, PartialEq)]
pub enum State {
    /// Nobody wants it to.
    #[default]
    Off,
    /// It does.
    On,
    /// It was to, and could not.
    Refused(Explanation),
}

/// Somebody who watches.
pub struct Watcher {
    /// Where changes come, if they are wanted.
    pub events: Option<broadcast::Receiver<Event>>,
    /// Where drops come, if they are wanted.
    pub drops: Option<broadcast::Receiver<Arc<Seen>>>,
    /// When it came, as the kernel reckons.
    since: u64,
    sampling: watch::Receiver<State>,
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
    /// Tells everybody who watches. While nobody does, the event is not even made.
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        if self.events.receiver_count() > 0 {
            // The last of them may have gone at this moment.
            _ = self.events.send(event());
        }
    }

    /// Tells a drop to everybody who watches these.
    pub fn tell_drop(&self, seen: Arc<Seen>) {
        // As above.
        _ = self.drops.send(seen);
    }

    /// Does anybody watch drops?
    pub fn wants_drops(&self) -> bool {
        self.drops.receiver_count() > 0
    }

    /// From now on it is so that the kernel tells drops, or not.
    pub fn samples(&self, state: State) {
        self.sampling.send_replace(state);
    }

    /// Waits until somebody has come to watch drops, or has gone.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// One more watches from here on, if not too many do.
    pub fn watch(&self, request: &Request) -> Result<Watcher, Failure> {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            let message = format!("there are {MOST} watching clients already");
            return Err(Failure::Unavailable(Explanation::new(message, "end another `filterd watch`")));
        };
        if request.drops {
            // What was refused before is tried again.
            self.sampling.send_if_modified(|state| {
                matches!(state, State::Refused(_)).then(|| *state = State::Off).is_some()
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
    /// Was it dropped since this one came? While others watch, the ring holds what came before, too.
    pub fn is_new(&self, seen: &Seen) -> bool {
        seen.at >= self.since
    }

    /// Waits until drops are told, where they are wanted; why they are not.
    pub async fn begins(&mut self) -> Option<Explanation> {
        self.drops.as_ref()?;
        match self.sampling.wait_for(|state| *state != State::Off).await.as_deref() {
            Ok(State::Refused(why)) => Some(why.clone()),
            Ok(State::On | State::Off) | Err(_) => None,
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
    fn a_slow_watcher_loses_events_and_holds_nobody() {
        let watching = Watching::default();
        watching.tell(|| unreachable!("nobody watches"));
        let mut slow = watching.watch(&both()).unwrap();
        let slow = slow.events.as_mut().unwrap();
        (0..KEPT as u64 + 7).for_each(|at| watching.tell(|| Event { at, ..Event::default() }));
        assert!(matches!(slow.try_recv(), Err(broadcast::error::TryRecvError::Lagged(7))));
        assert_eq!(slow.try_recv().unwrap().at, 7);
    }

    #[test]
    fn eight_may_watch_and_a_ninth_is_told_so() {
        let watching = Watching::default();
        let mut watchers: Vec<_> = (0..MOST).map(|_| watching.watch(&both()).unwrap()).collect();
        assert!(matches!(watching.watch(&both()), Err(Failure::Unavailable(_))));
        watchers.pop();
        assert!(watching.watch(&both()).is_ok());
    }

    #[test]
    fn whoever_comes_is_told_nothing_of_what_was_dropped_before() {
        let watching = Watching::default();
        let seen = |at| Seen { at, told: Dropped::default(), frame: Vec::new(), headers: 0 };
        let (before, watcher, after) =
            (clock::kernel_now(), watching.watch(&both()).unwrap(), clock::kernel_now());
        assert!(!watcher.is_new(&seen(before - 1)));
        assert!(watcher.is_new(&seen(after)));
    }

    #[tokio::test]
    async fn drops_are_wanted_as_long_as_anybody_watches_them() {
        let watching = Watching::default();
        let changes = watching.watch(&Request { drops: false, ..both() }).unwrap();
        assert!(!watching.wants_drops());
        let mut one = watching.watch(&both()).unwrap();
        watching.changed().await;
        assert!(watching.wants_drops());
        watching.samples(State::Refused("because".into()));
        assert_eq!(one.begins().await, Some("because".into()));
        let mut other = watching.watch(&both()).unwrap();
        watching.samples(State::On);
        assert_eq!(other.begins().await, None);
        drop((one, changes));
        assert!(watching.wants_drops());
        drop(other);
        watching.changed().await;
        assert!(!watching.wants_drops());
    }

    #[test]
    fn frames_of_what_passes_are_shown_to_nobody() {
        let seen = |outcome: &str| Seen {
            at: 0,
            told: Dropped { outcome: outcome.to_owned(), ..Dropped::default() },
            frame: b"headerswords".to_vec(),
            headers: 7,
        };
        assert_eq!(seen("drop").frame(Depth::Whole), Some(&b"headerswords"[..]));
        assert_eq!(seen("drop").frame(Depth::Headers), Some(&b"headers"[..]));
        for outcome in ["would_drop", "paused", ""] {
            assert_eq!(seen(outcome).frame(Depth::Whole), None, "{outcome}");
        }
    }
}
