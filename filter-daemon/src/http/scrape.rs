//! The metrics that Prometheus reads.

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::mpsc;

use super::answer::{HttpAnswer, sentence, whole};
use super::owner;
use super::shared::SharedAnswer;
use crate::control::Call;
use crate::metrics;

/// All series at this moment.
pub async fn answer(calls: &mpsc::Sender<Call>, shared: &SharedAnswer<Bytes>) -> HttpAnswer {
    let scrape =
        shared.get(|| async { owner::look(calls).await.map(|snapshot| metrics::text(&snapshot).into()) });
    match owner::soon(scrape).await {
        Some(text) => whole(StatusCode::OK, metrics::CONTENT_TYPE, text),
        None => sentence(StatusCode::SERVICE_UNAVAILABLE, "filterd is stopping or busy"),
    }
}
