//! The stream that the page draws itself from: once a second everything there is to see, and the sentence on protection.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::StatusCode;
use hyper::body::{Bytes, Frame};
use serde::Serialize;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::answer::{Answer, of, sentence};
use super::owner;
use super::shared::Shared;
use crate::command::render::moment::Clock;
use crate::command::render::protection::{Protection, Standing};
use crate::control::Call;
use crate::control::wire::snapshot::Reply as Snapshot;

/// So many streams at once: each is a connection that stays.
const STREAMS: usize = 8;

const SECOND: Duration = Duration::from_secs(1);

/// A browser that has lost the stream asks for it anew after so many milliseconds.
const RETRY: &str = "retry: 1000\n";

/// One event.
#[derive(Serialize)]
struct Event {
    protection: Sentence,
    snapshot: Snapshot,
}

/// What `status` begins with, and how it stands.
#[derive(Serialize)]
struct Sentence {
    standing: &'static str,
    sentence: String,
}

/// All streams there are. Their seconds are the same, so that the owner is asked once for all of them.
pub struct Streams {
    places: Arc<Semaphore>,
    shared: Arc<Shared<Bytes>>,
    /// From here seconds are counted.
    began: Instant,
}

impl Default for Streams {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(STREAMS)), shared: Arc::default(), began: Instant::now() }
    }
}

impl Streams {
    /// One more, if there is a place for it. Nothing waits in it: it asks when its last event is on its way.
    pub fn answer(&self, calls: &mpsc::Sender<Call>) -> Answer {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return sentence(StatusCode::SERVICE_UNAVAILABLE, "all streams are in use: try later");
        };
        let (shared, calls) = (self.shared.clone(), calls.clone());
        // The first event comes at once, for nobody waits in front of an empty page.
        let first = Some(Instant::now());
        let events = unfold((first, self.seconds(), place), move |(first, mut seconds, place)| {
            let (shared, calls) = (shared.clone(), calls.clone());
            async move {
                let second = match first {
                    Some(now) => now,
                    None => seconds.tick().await,
                };
                let make = || async { Event::of(owner::look(&calls).await?).told() };
                let event = shared.get_since(second, make).await?;
                Some((Ok::<_, Infallible>(Frame::data(event)), (None, seconds, place)))
            }
        });
        of(StatusCode::OK, "text/event-stream", StreamBody::new(events).boxed_unsync())
    }

    /// Those that are still to come. Who cannot keep up leaves some out.
    fn seconds(&self) -> Interval {
        let mut seconds = interval_at(self.next(Instant::now()), SECOND);
        seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        seconds
    }

    fn next(&self, now: Instant) -> Instant {
        let whole = now.duration_since(self.began).as_secs();
        self.began + Duration::from_secs(whole) + SECOND
    }
}

impl Event {
    fn of(snapshot: Snapshot) -> Self {
        let protection = Protection::of(&snapshot);
        let standing = match protection.standing() {
            Standing::Well => "well",
            Standing::Noteworthy => "noteworthy",
            Standing::Bad => "bad",
        };
        let sentence = protection.told(&Clock::system());
        Self { protection: Sentence { standing, sentence }, snapshot }
    }

    /// As a browser reads it: JSON has no line breaks of its own.
    fn told(&self) -> Option<Bytes> {
        let json = serde_json::to_string(self).ok()?;
        Some(format!("{RETRY}data: {json}\n\n").into())
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;
    use crate::control::wire::Asked;

    #[tokio::test(start_paused = true)]
    async fn however_many_follow_the_owner_is_asked_once_a_second() {
        let (calls, mut asked) = mpsc::channel(1);
        let (shown, begun) = (Streams::default(), Instant::now());
        let mut following = JoinSet::new();
        for _ in 0..STREAMS {
            let mut body = shown.answer(&calls).into_body();
            following.spawn(async move {
                for _ in 0..3 {
                    body.frame().await.unwrap().unwrap();
                }
            });
        }
        drop(calls);
        let mut times = 0;
        while let Some(Call::Snapshot(Asked { reply, .. })) = asked.recv().await {
            times += 1;
            // No answer is ready at the moment that it was asked about.
            tokio::time::advance(Duration::from_millis(1)).await;
            _ = reply.send(Ok(Snapshot::default()));
        }
        assert_eq!(following.join_all().await.len(), STREAMS);
        // Each asked when it came, perhaps, and one of them in each second since.
        let most = STREAMS as u64 + begun.elapsed().as_secs() + 1;
        assert!(times <= most, "asked {times} times, where {most} will do");
    }

    #[test]
    fn who_comes_later_follows_in_step_with_the_others() {
        let shown = Streams::default();
        for (milliseconds, next) in [(0, 1), (1, 1), (999, 1), (1000, 2), (2300, 3)] {
            let now = shown.began + Duration::from_millis(milliseconds);
            assert_eq!(shown.next(now), shown.began + next * SECOND, "{milliseconds}");
        }
    }
}
