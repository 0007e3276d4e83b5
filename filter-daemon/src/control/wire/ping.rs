//! `io.filterd.Ping`: check whether the daemon answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Failure, Method};

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ping {}

/// The answer of a running daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of the protocol.
    pub version: u32,
    /// Process id of the daemon.
    pub pid: u32,
}

impl Method for Ping {
    const NAME: &'static str = "io.filterd.Ping";
    type Request = ();
    type Reply = Reply;
    /// A running daemon answers this at once.
    const MAY_TAKE: Duration = Duration::from_secs(5);

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }
}
