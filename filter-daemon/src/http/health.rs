//! For whoever decides by a number whether to start filterd anew, or to send somebody here.

use hyper::StatusCode;
use tokio::sync::mpsc;

use super::answer::{Answer, sentence};
use super::owner;
use crate::command::render::moment::Clock;
use crate::command::render::protection::Protection;
use crate::control::Call;

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
pub async fn is_ready(calls: &mpsc::Sender<Call>) -> Answer {
    let Some(snapshot) = owner::look_soon(calls).await else {
        return sentence(StatusCode::SERVICE_UNAVAILABLE, "filterd is stopping, or at work for long");
    };
    let status = if snapshot.is_protected() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    sentence(status, &Protection::of(&snapshot).told(&Clock::system()))
}
