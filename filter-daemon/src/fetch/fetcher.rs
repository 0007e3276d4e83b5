//! What the daemon holds: a line to the process that starts fetches.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::body::{Body, Fetched, Hearing};
use super::error::FetchError;
use super::line::Line;
use super::message::{self, Head};
use super::order::Order;
use super::spawner;
use crate::accounts::User;

/// Has things fetched. It can be given to many; when the last one goes, the process ends.
#[derive(Clone)]
pub struct Fetcher(Arc<Line>);

impl Fetcher {
    /// Starts the process, which becomes `user` if we are root, or `nobody` where that is to stay root. To be called while programs can still be
    /// started; `log` is how the process is told to log. It fetches whatever is ordered.
    pub fn start(user: Option<&User>, log: &[&str]) -> io::Result<Self> {
        Self::begin(Command::new("/proc/self/exe"), None, user, log)
    }

    /// The same, which fetches only what this configuration names: that process reads it.
    pub fn start_named_by(configuration: &Path, user: Option<&User>, log: &[&str]) -> io::Result<Self> {
        Self::begin(Command::new("/proc/self/exe"), Some(configuration), user, log)
    }

    /// Starts it by this command, whose program must be a filterd.
    pub fn begin(
        mut command: Command,
        configuration: Option<&Path>,
        user: Option<&User>,
        log: &[&str],
    ) -> io::Result<Self> {
        let (ours, theirs) = Line::pair()?;
        let user = user.filter(|user| !user.uid.is_root());
        // Whoever looks for filterd in `ps` is to find it.
        command.arg0("filterd").args(log).arg(spawner::VERB).args(user.map(|user| &user.name));
        if let Some(configuration) = configuration {
            command.arg("--named-by").arg(configuration);
        }
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null());
        // It is never waited for: it ends after us.
        command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start the process that fetches lists: {error}"))
        })?;
        Ok(Self(Arc::new(ours)))
    }

    /// Fetches. This waits for the network, so it is called on a thread of its own.
    pub fn fetch(&self, order: Order) -> Result<Fetched, FetchError> {
        order.check()?;
        let interrupted = |error: io::Error| FetchError::Interrupted(error.to_string());
        let (mut ours, theirs) = UnixStream::pair().map_err(interrupted)?;
        self.0.send(order.patience, theirs.as_fd()).map_err(|error| FetchError::Gone(error.to_string()))?;
        drop(theirs);
        let sent = message::send(&mut ours, &order);
        let mut hearing = Hearing::begin(ours, order.patience);
        // Whoever hangs up before has said why.
        let head =
            message::receive(&mut hearing).map_err(|error| hearing.why(sent.err().unwrap_or(error)))?;
        match head {
            Head::Failed(error) => Err(error),
            Head::Unchanged { mut from } => {
                from.truncate(Body::MOST_FROM);
                Ok(Fetched::Unchanged { from })
            }
            Head::Body { etag, last_modified, content_type, from } => {
                let most = order.most_bytes;
                let body = Body::begin(hearing, most, etag, last_modified, content_type, from);
                Ok(Fetched::Body(Box::new(body)))
            }
        }
    }
}
