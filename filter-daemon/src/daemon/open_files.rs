//! How many files filterd may have open: maps, lists and each client are files, and a shell or a container may have left it
//! but a few.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::error::DaemonError;

/// With fewer, something as small as a second client fails.
const LEAST: u64 = 128;

/// Enough for hundreds of clients.
const PLENTY: u64 = 4096;

/// Takes as many as it may, if it was given fewer than plenty; root may take more than it was given.
///
/// # Errors
/// When that is fewer than the least.
pub fn take_enough() -> Result<(), DaemonError> {
    let limits = || getrlimit(Resource::RLIMIT_NOFILE).map_err(std::io::Error::from);
    let (given, most) = limits()?;
    if given >= PLENTY {
        return Ok(());
    }
    for enough in [PLENTY, PLENTY.min(most)] {
        if setrlimit(Resource::RLIMIT_NOFILE, enough, most.max(enough)).is_ok() {
            break;
        }
    }
    match limits()?.0 {
        few if few < LEAST => Err(DaemonError::FewFiles { few, least: LEAST }),
        _ => Ok(()),
    }
}
