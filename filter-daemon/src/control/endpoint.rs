//! Where the daemon listens, and how long its silence is borne.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a client waits for a daemon that does not answer, unless it is told otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// A daemon, as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its control socket.
    pub socket: PathBuf,
    /// How long it may be silent; for ever if none.
    pub timeout: Option<Duration>,
}

impl Endpoint {
    /// Half of the patience: after that much silence the daemon is asked for a sign of life, which may take the rest.
    pub(super) fn half(&self) -> Option<Duration> {
        self.timeout.map(|timeout| timeout / 2)
    }
}

/// The daemon that listens there, and the usual patience.
impl From<&Path> for Endpoint {
    fn from(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), timeout: Some(TIMEOUT) }
    }
}

impl From<&PathBuf> for Endpoint {
    fn from(socket: &PathBuf) -> Self {
        socket.as_path().into()
    }
}

impl From<&Endpoint> for Endpoint {
    fn from(endpoint: &Endpoint) -> Self {
        endpoint.clone()
    }
}
