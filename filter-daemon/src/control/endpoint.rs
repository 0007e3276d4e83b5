//! The address of a daemon, and how long it may be silent.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a client waits for an answer by default.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// A daemon, as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub socket: PathBuf,
    /// How long it may be silent; without a limit if none.
    pub timeout: Option<Duration>,
}

impl Endpoint {
    /// Half of the timeout. After this much silence, the client sends a ping, which may take the other half.
    pub(super) fn half(&self) -> Option<Duration> {
        self.timeout.map(|timeout| timeout / 2)
    }
}

/// The daemon at this socket, with the default timeout.
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
