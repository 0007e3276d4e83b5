//! Alternates between requests and the owner's own work. After each piece of own work a waiting request is
//! served, and no number of requests delays the own work.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::Receiver;

/// Records which of them had the last turn.
#[derive(Debug, Default)]
pub struct Turns {
    was_own: bool,
}

/// The event that is handled next.
#[derive(Debug, PartialEq, Eq)]
pub enum NextTurn<C, O> {
    Call(C),
    Own(O),
}

/// When the work was last done that has no deadline of its own.
#[derive(Debug)]
pub struct LastCheck(pub Instant);

impl LastCheck {
    /// The time until that work is due again. Other work since then does not delay it.
    pub fn until(&self, poll: Duration, now: Instant) -> Duration {
        poll.saturating_sub(now.duration_since(self.0))
    }
}

impl Turns {
    /// Waits for either. The one that did not have the last turn comes first.
    pub async fn next<C, O>(
        &mut self,
        calls: &mut Receiver<C>,
        own: impl Future<Output = O>,
    ) -> NextTurn<C, O> {
        let was_own = std::mem::take(&mut self.was_own);
        if was_own && let Ok(call) = calls.try_recv() {
            return NextTurn::Call(call);
        }
        tokio::select! {
            biased;
            own = own => {
                self.was_own = true;
                NextTurn::Own(own)
            }
            Some(call) = calls.recv() => NextTurn::Call(call),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::sync::mpsc;

    use super::*;

    /// The first turns after this many requests: `c` for a request, `o` for own work.
    async fn first_turns(come: usize, own_work: bool) -> String {
        let (calls, mut received) = mpsc::channel(8);
        for call in 0..come {
            calls.send(call).await.unwrap();
        }
        let (mut turns, mut had) = (Turns::default(), String::new());
        for _ in 0..6 {
            let own = async { if own_work { ready(()).await } else { pending().await } };
            had += match turns.next(&mut received, own).await {
                NextTurn::Call(_) => "c",
                NextTurn::Own(()) => "o",
            };
        }
        had
    }

    #[tokio::test]
    async fn requests_and_own_work_alternate() {
        assert_eq!(first_turns(8, true).await, "ocococ");
    }

    #[test]
    fn regular_work_is_not_delayed_by_requests() {
        let (begun, poll, call) = (Instant::now(), Duration::from_millis(100), Duration::from_millis(30));
        let minded = LastCheck(begun);
        let left = (0..5).map(|calls| minded.until(poll, begun + calls * call).as_millis());
        assert_eq!(left.collect::<Vec<_>>(), [100, 70, 40, 10, 0]);
    }

    #[tokio::test]
    async fn absent_requests_do_not_delay_work() {
        assert_eq!(first_turns(2, true).await, "ococoo");
        assert_eq!(first_turns(8, false).await, "cccccc");
    }
}
