//! What Prometheus reads.

use hyper::StatusCode;
use tokio::sync::mpsc;

use super::answer::{Answer, sentence, whole};
use super::owner;
use crate::control::Call;
use crate::metrics;

/// All series of this moment.
pub async fn answer(calls: &mpsc::Sender<Call>) -> Answer {
    match owner::look_soon(calls).await {
        Some(snapshot) => whole(StatusCode::OK, metrics::CONTENT_TYPE, metrics::text(&snapshot)),
        None => sentence(StatusCode::SERVICE_UNAVAILABLE, "filterd is stopping, or at work for long"),
    }
}
