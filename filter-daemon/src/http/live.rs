//! The event stream of the page: once a second, a snapshot and a summary of protection.

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

use super::answer::{HttpAnswer, of, sentence};
use super::owner;
use super::shared::SharedAnswer;
use crate::command::render::moment::Clock;
use crate::command::render::protection::{ProtectionInput, ProtectionLevel};
use crate::control::Call;
use crate::control::wire::snapshot::Reply as Snapshot;

/// The most streams; each keeps a connection.
const STREAMS: usize = 8;

const SECOND: Duration = Duration::from_secs(1);

/// How many milliseconds a browser waits before it reconnects.
const RETRY: &str = "retry: 1000\n";

/// One event of the stream.
#[derive(Serialize)]
struct PageEvent {
    protection: Sentence,
    snapshot: Snapshot,
}

/// The first sentence of `status`, and its level.
#[derive(Serialize)]
struct Sentence {
    standing: &'static str,
    sentence: String,
}

/// All streams. They tick together, so that one snapshot serves all of them.
pub struct Streams {
    places: Arc<Semaphore>,
    shared: Arc<SharedAnswer<Bytes>>,
    /// The start of the first second.
    began: Instant,
}

impl Default for Streams {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(STREAMS)), shared: Arc::default(), began: Instant::now() }
    }
}

impl Streams {
    /// Starts a stream, if the limit permits. It has no queue: it asks for the next snapshot when its last
    /// event was sent.
    pub fn answer(&self, calls: &mpsc::Sender<Call>) -> HttpAnswer {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return sentence(StatusCode::SERVICE_UNAVAILABLE, "all streams are in use: try later");
        };
        let (shared, calls) = (self.shared.clone(), calls.clone());
        // The first event is sent at once, so that the page is not empty at first.
        let first = Some(Instant::now());
        let events = unfold((first, self.seconds(), place), move |(first, mut seconds, place)| {
            let (shared, calls) = (shared.clone(), calls.clone());
            async move {
                let second = match first {
                    Some(now) => now,
                    None => seconds.tick().await,
                };
                let make = || async { PageEvent::of(owner::look(&calls).await?).told() };
                let event = shared.get_since(second, make).await?;
                Some((Ok::<_, Infallible>(Frame::data(event)), (None, seconds, place)))
            }
        });
        of(StatusCode::OK, "text/event-stream", StreamBody::new(events).boxed_unsync())
    }

    /// The following seconds. A slow reader skips some.
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

impl PageEvent {
    fn of(snapshot: Snapshot) -> Self {
        let protection = ProtectionInput::of(&snapshot);
        let standing = match protection.standing() {
            ProtectionLevel::Well => "well",
            ProtectionLevel::Noteworthy => "noteworthy",
            ProtectionLevel::Bad => "bad",
        };
        let sentence = protection.told(&Clock::system());
        Self { protection: Sentence { standing, sentence }, snapshot }
    }

    /// The event as server-sent data; JSON contains no line breaks.
    fn told(&self) -> Option<Bytes> {
        let json = serde_json::to_string(self).ok()?;
        Some(format!("{RETRY}data: {json}\n\n").into())
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;
    use crate::control::wire::PendingRequest;

    #[tokio::test(start_paused = true)]
    async fn streams_share_one_snapshot_a_second() {
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
        while let Some(Call::Snapshot(PendingRequest { reply, .. })) = asked.recv().await {
            times += 1;
            // An answer is never ready in the instant of its request.
            tokio::time::advance(Duration::from_millis(1)).await;
            _ = reply.send(Ok(Snapshot::default()));
        }
        assert_eq!(following.join_all().await.len(), STREAMS);
        // Each stream may ask once at its start, and then one of them each second.
        let most = STREAMS as u64 + begun.elapsed().as_secs() + 1;
        assert!(times <= most, "asked {times} times, where {most} will do");
    }

    #[test]
    fn later_streams_tick_with_others() {
        let shown = Streams::default();
        for (milliseconds, next) in [(0, 1), (1, 1), (999, 1), (1000, 2), (2300, 3)] {
            let now = shown.began + Duration::from_millis(milliseconds);
            assert_eq!(shown.next(now), shown.began + next * SECOND, "{milliseconds}");
        }
    }
}
