//! Asking the one who knows. Nothing is kept here: whoever is answered is told what is so now.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::control::Call;
use crate::control::wire::Asked;
use crate::control::wire::snapshot::Reply as Snapshot;

/// An owner who says nothing for so long does not work any more.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Everything there is to see; nothing from a filterd that stops.
pub async fn look(calls: &mpsc::Sender<Call>) -> Option<Snapshot> {
    let (reply, answer) = oneshot::channel();
    calls.send(Call::Snapshot(Asked { request: (), reply })).await.ok()?;
    answer.await.ok()?.ok()
}

/// What comes of it from an owner who works.
pub async fn soon<T>(asked: impl Future<Output = Option<T>>) -> Option<T> {
    timeout(PATIENCE, asked).await.ok()?
}

/// Does it answer?
pub async fn answers(calls: &mpsc::Sender<Call>) -> bool {
    let asked = async {
        let (reply, answer) = oneshot::channel();
        calls.send(Call::Ping(Asked { request: (), reply })).await.ok()?;
        answer.await.ok()
    };
    matches!(timeout(PATIENCE, asked).await, Ok(Some(Ok(_))))
}
