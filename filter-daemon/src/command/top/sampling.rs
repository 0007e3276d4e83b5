//! Receives drops for `top` from a `Watch` request of its own, on a thread that restarts the request when
//! it ends.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, sleep};
use std::time::Duration;

use crate::clock;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::sources::SampledSources;
use crate::control::wire;
use crate::control::wire::watch::{Drop, Reply};
use crate::text::Explain;

/// The delay before the next attempt.
const AGAIN: Duration = Duration::from_secs(2);

/// A message of the thread.
#[derive(Debug)]
pub enum SamplingEvent {
    Drop(Box<Drop>),
    /// The request was accepted.
    Begun,
    /// The request failed, for this reason.
    Refused(String),
}

/// Starts the thread. It ends when its receiver is dropped, or with this process.
pub fn begin(socket: &Endpoint) -> Receiver<SamplingEvent> {
    let (tell, told) = channel();
    let socket = socket.clone();
    thread::spawn(move || {
        loop {
            let request = wire::Watch { drops: true, ..wire::Watch::default() };
            let ended = watch(&socket, &request, &tell);
            let why = ended.err().map_or_else(|| "it has ended".to_owned(), |why| why.explain().to_string());
            if tell.send(SamplingEvent::Refused(why)).is_err() {
                return;
            }
            sleep(AGAIN);
        }
    });
    told
}

/// Collects drops for this time. Without permission to watch, it waits as long and returns no drops.
pub fn within(socket: &Endpoint, time: Duration) -> SampledSources {
    let begun = clock::instant();
    let (tell, told) = channel();
    let request = wire::Watch { drops: true, seconds: Some(time.as_secs().max(1)), ..wire::Watch::default() };
    let ended = watch(socket, &request, &tell);
    drop(tell);
    let mut sources = SampledSources::default();
    sources.go_on(begun);
    told.into_iter().for_each(|came| take(&mut sources, came));
    if let Err(why) = ended {
        sources.refused = Some(why.explain().to_string());
    }
    sleep(time.saturating_sub(begun.elapsed()));
    sources
}

/// Adds a message to the sources.
pub fn take(sources: &mut SampledSources, came: SamplingEvent) {
    match came {
        SamplingEvent::Drop(drop) => sources.note(&drop),
        SamplingEvent::Begun => sources.refused = None,
        SamplingEvent::Refused(why) => sources.refused = Some(why),
    }
}

fn watch(socket: &Endpoint, request: &wire::Watch, tell: &Sender<SamplingEvent>) -> Result<(), ClientError> {
    let mut client = Client::connect(socket)?;
    client.send(request)?;
    loop {
        let line = client.receive::<wire::Watch>()?;
        let Reply { drop, no_drops, .. } = line.parameters;
        let came = match (drop, no_drops) {
            (Some(drop), _) => SamplingEvent::Drop(Box::new(drop)),
            (None, Some(why)) => SamplingEvent::Refused(why.to_string()),
            (None, None) => SamplingEvent::Begun,
        };
        if tell.send(came).is_err() || !line.continues {
            return Ok(());
        }
    }
}
