//! `io.filterd.TakeOver`: where the daemon has its things, for one that is about to take its place.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Deed, Failure, Method};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TakeOver {}

/// Whose place it is, and which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of the protocol.
    pub version: u32,
    /// Process id of the daemon.
    pub pid: u32,
    /// Its user.
    pub user: u32,
    /// Its state directory.
    pub state_dir: PathBuf,
    /// Its pins.
    pub pin_dir: PathBuf,
    /// Memory that it takes, the kernel's for its tables included, in bytes: as much is needed once more.
    pub memory: u64,
}

impl Method for TakeOver {
    const NAME: &'static str = "io.filterd.TakeOver";
    type Request = ();
    type Reply = Reply;
    const IS_ROOTS: bool = true;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    /// Nothing of the blocklist, and it may come to nothing; but whoever asks for it is told.
    fn deed((): &()) -> Option<Deed> {
        Some(Deed::about("asked for its place to take over", &[], None))
    }
}
