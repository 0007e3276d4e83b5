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
use tokio::time::{MissedTickBehavior, interval};

use super::answer::{Answer, of, sentence};
use super::owner;
use crate::command::render::moment::Clock;
use crate::command::render::protection::{Protection, Standing};
use crate::control::Call;
use crate::control::wire::snapshot::Reply as Snapshot;

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

/// A stream, if there is a place for one more. Nothing waits in it: the owner is asked when the last event is on its way.
pub fn answer(calls: &mpsc::Sender<Call>, streams: &Arc<Semaphore>) -> Answer {
    let Ok(place) = streams.clone().try_acquire_owned() else {
        return sentence(
            StatusCode::SERVICE_UNAVAILABLE,
            "others look at all the streams there are: try later",
        );
    };
    let mut seconds = interval(SECOND);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let events = unfold((seconds, calls.clone(), place), |(mut seconds, calls, place)| async {
        seconds.tick().await;
        let event = Event::of(owner::look(&calls).await?).told()?;
        Some((Ok::<_, Infallible>(Frame::data(event)), (seconds, calls, place)))
    });
    of(StatusCode::OK, "text/event-stream", StreamBody::new(events).boxed_unsync())
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
