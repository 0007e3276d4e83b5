//! Asks the daemon's loop for every reply. Nothing is cached here.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::control::Call;
use crate::control::wire::PendingRequest;
use crate::control::wire::snapshot::Reply as Snapshot;

/// How long the daemon's loop may take before it counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A snapshot; none if filterd is stopping.
pub async fn look(calls: &mpsc::Sender<Call>) -> Option<Snapshot> {
    let (reply, answer) = oneshot::channel();
    calls.send(Call::Snapshot(PendingRequest { request: (), reply })).await.ok()?;
    answer.await.ok()?.ok()
}

/// The result, or none if it takes longer than [`PATIENCE`].
pub async fn soon<T>(asked: impl Future<Output = Option<T>>) -> Option<T> {
    timeout(PATIENCE, asked).await.ok()?
}

/// True if the daemon's loop answers within [`PATIENCE`].
pub async fn answers(calls: &mpsc::Sender<Call>) -> bool {
    let asked = async {
        let (reply, answer) = oneshot::channel();
        calls.send(Call::Ping(PendingRequest { request: (), reply })).await.ok()?;
        answer.await.ok()
    };
    matches!(timeout(PATIENCE, asked).await, Ok(Some(Ok(_))))
}
