//! Those who watch what happens. Nobody waits for them: who is too slow loses events, and is told how many.

use tokio::sync::broadcast;

use super::wire::Failure;
use super::wire::watch::Event;
use crate::text::Explanation;

/// Watchers at once; each may be some MiB behind.
const MOST: usize = 8;

/// Events that are kept for those who have not read them yet, a kilobyte each at most times.
const KEPT: usize = 1024;

/// Where events go; clones tell the same watchers.
#[derive(Clone, Debug)]
pub struct Watching(broadcast::Sender<Event>);

impl Default for Watching {
    fn default() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }
}

impl Watching {
    /// Tells everybody who watches. While nobody does, the event is not even made.
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        if self.0.receiver_count() > 0 {
            // The last of them may have gone at this moment.
            _ = self.0.send(event());
        }
    }

    /// One more watches from here on, if not too many do.
    pub fn watch(&self) -> Result<broadcast::Receiver<Event>, Failure> {
        if self.0.receiver_count() >= MOST {
            let message = format!("{MOST} clients watch already");
            return Err(Failure::Unavailable(Explanation::new(message, "end another `filterd watch`")));
        }
        Ok(self.0.subscribe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_watcher_loses_events_and_holds_nobody() {
        let watching = Watching::default();
        watching.tell(|| unreachable!("nobody watches"));
        let mut slow = watching.watch().unwrap();
        (0..KEPT as u64 + 7).for_each(|at| watching.tell(|| Event { at, ..Event::default() }));
        assert!(matches!(slow.try_recv(), Err(broadcast::error::TryRecvError::Lagged(7))));
        assert_eq!(slow.try_recv().unwrap().at, 7);
    }

    #[test]
    fn eight_may_watch_and_a_ninth_is_told_so() {
        let watching = Watching::default();
        let mut watchers: Vec<_> = (0..MOST).map(|_| watching.watch().unwrap()).collect();
        assert!(matches!(watching.watch(), Err(Failure::Unavailable(_))));
        watchers.pop();
        assert!(watching.watch().is_ok());
    }
}
