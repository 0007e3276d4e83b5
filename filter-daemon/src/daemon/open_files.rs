//! The limit of open files. Maps, lists and clients are files, and a shell or a container may have set a low
//! limit.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::error::DaemonError;

/// With fewer files, even a second client fails.
const LEAST: u64 = 128;

/// Enough for hundreds of clients.
const PLENTY: u64 = 4096;

/// Raises the limit if it is below `PLENTY`. Root may exceed the hard limit.
///
/// # Errors
/// If the result is below `LEAST`.
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
