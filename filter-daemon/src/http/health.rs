//! Health checks for supervisors and load balancers, which decide by the status code.

use hyper::StatusCode;
use tokio::sync::mpsc;

use super::answer::{HttpAnswer, sentence};
use super::owner;
use super::shared::SharedAnswer;
use crate::command::render::moment::Clock;
use crate::command::render::protection::ProtectionInput;
use crate::control::Call;
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::text::printable;

/// Status and text of a readiness check.
pub type Readiness = (StatusCode, String);

/// Checks only that the daemon's loop answers, because a restart would fix nothing else.
pub async fn is_alive(calls: &mpsc::Sender<Call>) -> HttpAnswer {
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

/// Checks that protection is as configured. A list that keeps its previous version does not count as a
/// fault.
pub async fn is_ready(calls: &mpsc::Sender<Call>, shared: &SharedAnswer<Readiness>) -> HttpAnswer {
    let ready = shared.get(|| async {
        let snapshot = owner::look(calls).await?;
        let status = if snapshot.is_protected() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        Some((status, told(&snapshot)))
    });
    match owner::soon(ready).await {
        Some((status, told)) => sentence(status, &told),
        None => sentence(StatusCode::SERVICE_UNAVAILABLE, "filterd is stopping or busy"),
    }
}

/// The summary, and below it each fault with its fix.
fn told(snapshot: &Snapshot) -> String {
    let faults = snapshot.faults.iter().flat_map(|fault| {
        let lines = fault.told.lines().map(printable::on_one_line).enumerate();
        lines.map(|(place, line)| if place == 0 { format!("\n{line}") } else { format!("\n    {line}") })
    });
    let sentence = ProtectionInput::of(snapshot).told(&Clock::system());
    [sentence].into_iter().chain(faults).collect()
}
