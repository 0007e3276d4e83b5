//! `run`: builds the daemon so that one does not wait long, and becomes it, with the arguments exactly as they were typed.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Error, Result};

use crate::build::{self, Profile};

/// Builds the daemon and becomes it. Comes back only with an error.
pub fn daemon(arguments: &[OsString]) -> Result<()> {
    let daemon = build::daemon(Profile::Quick)?;
    let error = Command::new(&daemon).args(arguments).exec();
    Err(Error::new(error).context(format!("cannot start {}", daemon.display())))
}
