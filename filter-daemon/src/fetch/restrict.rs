//! The restrictions of the two fetching processes. The fetching child keeps only the network. It reads the
//! files that resolve names, writes to the socket that it was given, and connects to the ports of lists.
//!
//! There are three mechanisms, because none is in every kernel or covers everything: resource limits,
//! Landlock (`files`) and seccomp.

mod files;

use std::io;
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use rustix::thread::set_no_new_privs;

use super::error::FetchError;
use super::order::FetchOrder;
use crate::seccomp::{self, ProcessKind};

/// Enough memory for a fetch: a few buffers, the authorities, and the program.
const MOST_MEMORY: u64 = 512 << 20;

/// One connection, some name servers, a file for name resolution, and the descriptors from the start.
const MOST_DESCRIPTORS: u64 = 32;

/// Restricts the spawner: it writes no files, and accepts no connections. Returns whether the kernel can
/// restrict ports.
pub fn spawner() -> io::Result<bool> {
    let knows_ports = files::spawner().map_err(io::Error::other)?;
    // Each fetch restricts itself again, and nothing is fetched where that fails.
    if let Err(error) = seccomp::restrict(ProcessKind::Fetcher) {
        tracing::warn!("the process that starts fetches of lists is not confined by seccomp: {error}");
    }
    Ok(knows_ports)
}

/// Gives up everything except the fetch of this order.
pub fn child(order: &FetchOrder) -> Result<(), FetchError> {
    let unrestricted = |error: &dyn std::fmt::Display| FetchError::Unrestricted(error.to_string());
    limit(order.patience).map_err(|error| unrestricted(&error))?;
    this_thread(order.url.port()).map_err(|error| unrestricted(&error))
}

/// Sets limits that the kernel counts.
fn limit(patience: Duration) -> io::Result<()> {
    let seconds = patience.as_secs().saturating_add(1);
    let limits = [
        (Resource::RLIMIT_AS, MOST_MEMORY),
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_CPU, seconds),
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_MEMLOCK, 0),
        (Resource::RLIMIT_NOFILE, MOST_DESCRIPTORS),
        (Resource::RLIMIT_NPROC, 0),
    ];
    limits.into_iter().try_for_each(|(what, most)| Ok(setrlimit(what, most, most)?))
}

/// Restricts this thread and all threads and processes that it starts later.
fn this_thread(port: u16) -> io::Result<()> {
    set_no_new_privs(true)?;
    files::child(port).map_err(io::Error::other)?;
    seccomp::restrict(ProcessKind::Fetch).map_err(io::Error::other)
}

#[cfg(test)]
mod tests;
