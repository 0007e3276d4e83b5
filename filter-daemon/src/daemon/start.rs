//! Bringing the daemon up, and down again.
//!
//! Everything is read, filled and published before the first interface is attached: the first packet that meets the
//! filter meets all of it.

use std::collections::HashMap;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tracing::info;

use super::error::DaemonError;
use super::owner::Owner;
use super::reload;
use crate::cli::Run;
use crate::control::{Call, Server};

/// Requests that wait for the owner; beyond these, clients wait to be read.
const MOST_WAITING: usize = 64;

/// Runs the daemon until a signal ends it.
pub async fn run(run: &Run) -> Result<(), DaemonError> {
    let mut stop = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let mut hangup = signal(SignalKind::hangup())?;
    let loaded = reload::load(run.config.as_deref(), &HashMap::new())?;
    let server = Server::listen(&run.socket)?;
    let mut owner = Owner::new(run, loaded)?;
    owner.attach().await?;
    let (calls, mut requests) = mpsc::channel::<Call>(MOST_WAITING);
    let serving = tokio::spawn(server.serve(calls));
    info!("ready: {}", owner.summary());
    let [terminate, interrupt] = &mut stop;
    let by = tokio::select! {
        never = owner.work(&mut requests, &mut hangup) => match never {},
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    };
    info!("stopping on {by}");
    serving.abort();
    owner.detach()?;
    Ok(())
}
