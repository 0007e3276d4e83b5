//! The daemon's connection to the process that starts fetches.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::body::{ChildReader, Fetched, FetchedBody};
use super::error::FetchError;
use super::line::SpawnerSocket;
use super::message::{self, FetchHead};
use super::order::FetchOrder;
use super::spawner;
use crate::accounts::User;

/// Fetches through the spawner process. Clones share it, and it ends when the last one is dropped.
#[derive(Clone)]
pub struct Fetcher(Arc<SpawnerSocket>);

impl Fetcher {
    /// Starts the process. It becomes `user` if this process is root; if `user` is root or none, it becomes
    /// `nobody`. Call it while programs can still be started. `log` contains its log options. It fetches
    /// everything that is ordered.
    pub fn start(user: Option<&User>, log: &[&str]) -> io::Result<Self> {
        Self::begin(Command::new("/proc/self/exe"), None, user, log)
    }

    /// Starts the process so that it fetches only what this configuration names; the process reads the file
    /// itself.
    pub fn start_named_by(configuration: &Path, user: Option<&User>, log: &[&str]) -> io::Result<Self> {
        Self::begin(Command::new("/proc/self/exe"), Some(configuration), user, log)
    }

    /// Starts the process by this command, whose program must be filterd.
    pub fn begin(
        mut command: Command,
        configuration: Option<&Path>,
        user: Option<&User>,
        log: &[&str],
    ) -> io::Result<Self> {
        let (ours, theirs) = SpawnerSocket::pair()?;
        let user = user.filter(|user| !user.uid.is_root());
        // This makes `ps` show the name filterd.
        command.arg0("filterd").args(log).arg(spawner::VERB).args(user.map(|user| &user.name));
        if let Some(configuration) = configuration {
            command.arg("--named-by").arg(configuration);
        }
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null());
        // It is never waited for, because it ends after this process.
        command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start the process that fetches lists: {error}"))
        })?;
        Ok(Self(Arc::new(ours)))
    }

    /// Fetches. It waits for the network, so call it on a thread of its own.
    pub fn fetch(&self, order: FetchOrder) -> Result<Fetched, FetchError> {
        order.check()?;
        let interrupted = |error: io::Error| FetchError::Interrupted(error.to_string());
        let (mut ours, theirs) = UnixStream::pair().map_err(interrupted)?;
        self.0.send(order.patience, theirs.as_fd()).map_err(|error| FetchError::Gone(error.to_string()))?;
        drop(theirs);
        let sent = message::send(&mut ours, &order);
        let mut hearing = ChildReader::begin(ours, order.patience);
        // A child that closes the socket early has sent the reason before.
        let head =
            message::receive(&mut hearing).map_err(|error| hearing.why(sent.err().unwrap_or(error)))?;
        match head {
            FetchHead::Failed(error) => Err(error),
            FetchHead::Unchanged { mut from } => {
                from.truncate(FetchedBody::MOST_FROM);
                Ok(Fetched::Unchanged { from })
            }
            FetchHead::Body { etag, last_modified, content_type, from } => {
                let most = order.most_bytes;
                let body = FetchedBody::begin(hearing, most, etag, last_modified, content_type, from);
                Ok(Fetched::Body(Box::new(body)))
            }
        }
    }
}
