//! `io.filterd.TakeOver`: say where the daemon keeps its files, for a filterd that is about to take over.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Deed, Failure, Method};

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TakeOver {}

/// The daemon that is to be replaced, and its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of the protocol.
    pub version: u32,
    /// Process id of the daemon.
    pub pid: u32,
    /// User of the daemon.
    pub user: u32,
    /// Path of its state directory.
    pub state_dir: PathBuf,
    /// Path of its pins.
    pub pin_dir: PathBuf,
    /// Memory of the daemon and of its tables in the kernel, in bytes. A successor needs as much again.
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

    /// It changes no list and may come to nothing, but the log says who asked for it.
    fn deed((): &()) -> Option<Deed> {
        Some(Deed::about("asked for its place to take over", &[], None))
    }
}
