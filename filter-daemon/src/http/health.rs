//! For whoever decides by a number whether to start filterd anew, or to send somebody here.

use hyper::StatusCode;
use tokio::sync::mpsc;

use super::answer::{Answer, sentence};
use super::owner;
use super::shared::Shared;
use crate::command::render::moment::Clock;
use crate::command::render::protection::Protection;
use crate::control::Call;

/// Whether it is ready, and the sentence on protection.
pub type Readiness = (StatusCode, String);

/// Does the daemon's loop answer? Nothing else matters here: starting it anew mends nothing else.
pub async fn is_alive(calls: &mpsc::Sender<Call>) -> Answer {
    if owner::answers(calls).await {
        sentence(StatusCode::OK, "filterd answers")
    } else {
        let seconds = owner::PATIENCE.as_secs();
        sentence(
            StatusCode::SERVICE_UNAVAILABLE,
            &format!("filterd is stopping, or has not answered for {seconds} seconds"),
        )
    }
}

/// Is protection what the configuration says? A list that is held back does not matter: what was there before is in force.
pub async fn is_ready(calls: &mpsc::Sender<Call>, shared: &Shared<Readiness>) -> Answer {
    let ready = shared.get(|| async {
        let snapshot = owner::look(calls).await?;
        let status = if snapshot.is_protected() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        Some((status, Protection::of(&snapshot).told(&Clock::system())))
    });
    match owner::soon(ready).await {
        Some((status, told)) => sentence(status, &told),
        None => sentence(StatusCode::SERVICE_UNAVAILABLE, "filterd is stopping, or at work for long"),
    }
}
