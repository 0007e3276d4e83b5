//! Who asks, as the kernel tells it.

use std::fmt;
use std::io;

use tokio::net::UnixStream;

/// The process that opened a connection, as the kernel tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its effective user.
    pub user: u32,
    /// Its effective group.
    pub group: u32,
    /// Its process id, if it has one in this namespace.
    pub process: Option<i32>,
}

/// Short, for a log.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uid {}", self.user)?;
        self.process.map_or(Ok(()), |process| write!(f, ", pid {process}"))
    }
}

impl Peer {
    /// The peer of this connection.
    pub fn of(stream: &UnixStream) -> io::Result<Self> {
        let credentials = stream.peer_cred()?;
        Ok(Self { user: credentials.uid(), group: credentials.gid(), process: credentials.pid() })
    }
}
