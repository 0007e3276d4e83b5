//! Requests and the owner's own work take turns: between any two things of its own somebody who has come is served, and
//! however many come, what the owner has to do is not forgotten.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::Receiver;

/// Who had the last turn.
#[derive(Debug, Default)]
pub struct Turns {
    was_own: bool,
}

/// Who has the next one.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<C, O> {
    /// Somebody who has come.
    Call(C),
    /// The owner's own work.
    Own(O),
}

/// When that was minded last which has no time of its own, and is looked after again and again.
#[derive(Debug)]
pub struct Minded(pub Instant);

impl Minded {
    /// How long until it is to be minded again, so long after the last time: not so long after whatever was done since.
    pub fn until(&self, poll: Duration, now: Instant) -> Duration {
        poll.saturating_sub(now.duration_since(self.0))
    }
}

impl Turns {
    /// Waits for either. Whoever did not have the last turn comes first.
    pub async fn next<C, O>(&mut self, calls: &mut Receiver<C>, own: impl Future<Output = O>) -> Next<C, O> {
        let was_own = std::mem::take(&mut self.was_own);
        if was_own && let Ok(call) = calls.try_recv() {
            return Next::Call(call);
        }
        tokio::select! {
            biased;
            own = own => {
                self.was_own = true;
                Next::Own(own)
            }
            Some(call) = calls.recv() => Next::Call(call),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::sync::mpsc;

    use super::*;

    /// Who has the first turns, when so many have come before: `c` for a call, `o` for the owner's own work.
    async fn first_turns(come: usize, own_work: bool) -> String {
        let (calls, mut received) = mpsc::channel(8);
        for call in 0..come {
            calls.send(call).await.unwrap();
        }
        let (mut turns, mut had) = (Turns::default(), String::new());
        for _ in 0..6 {
            let own = async { if own_work { ready(()).await } else { pending().await } };
            had += match turns.next(&mut received, own).await {
                Next::Call(_) => "c",
                Next::Own(()) => "o",
            };
        }
        had
    }

    #[tokio::test]
    async fn between_two_things_of_the_owners_somebody_is_served_and_the_other_way_round() {
        assert_eq!(first_turns(8, true).await, "ocococ");
    }

    #[test]
    fn what_is_looked_after_again_and_again_is_not_put_off_by_those_who_come() {
        let (begun, poll, call) = (Instant::now(), Duration::from_millis(100), Duration::from_millis(30));
        let minded = Minded(begun);
        let left = (0..5).map(|calls| minded.until(poll, begun + calls * call).as_millis());
        assert_eq!(left.collect::<Vec<_>>(), [100, 70, 40, 10, 0]);
    }

    #[tokio::test]
    async fn nobody_is_waited_for_who_has_not_come() {
        assert_eq!(first_turns(2, true).await, "ococoo");
        assert_eq!(first_turns(8, false).await, "cccccc");
    }
}
