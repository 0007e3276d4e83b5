//! `io.filterd.Ping`: is anybody there?

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Failure, Method};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ping {}

/// A sign of life.
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
    /// Whoever is there says so at once.
    const MAY_TAKE: Duration = Duration::from_secs(5);

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }
}
