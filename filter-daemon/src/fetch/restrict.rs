//! What the two processes take from themselves. Of the one that fetches nothing is left but to ask the network: it reads
//! what turns names into addresses, writes to the socket it was given, and talks to ports where lists are.
//!
//! Three ways, because none is on every kernel or tells everything apart: limits, Landlock (`files`), seccomp.

mod files;

use std::io;
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use rustix::thread::set_no_new_privs;

use super::error::FetchError;
use super::order::Order;
use crate::seccomp::{self, Process};

/// What a fetch takes of memory, with room: a few buffers, the authorities, and the program.
const MOST_MEMORY: u64 = 512 << 20;

/// A connection, a name server or two, a file that says who they are, and what it began with.
const MOST_DESCRIPTORS: u64 = 32;

/// The process that starts fetches writes nothing, and listens to nobody. Does the kernel know of ports, too?
pub fn spawner() -> io::Result<bool> {
    let knows_ports = files::spawner().map_err(io::Error::other)?;
    // Each fetch restricts itself, and nothing is fetched where it cannot.
    if let Err(error) = seccomp::restrict(Process::Fetcher) {
        tracing::warn!("the process that starts fetches of lists is not confined by seccomp: {error}");
    }
    Ok(knows_ports)
}

/// Everything but fetching this is given up.
pub fn child(order: &Order) -> Result<(), FetchError> {
    let unrestricted = |error: &dyn std::fmt::Display| FetchError::Unrestricted(error.to_string());
    limit(order.patience).map_err(|error| unrestricted(&error))?;
    this_thread(order.url.port()).map_err(|error| unrestricted(&error))
}

/// What the kernel counts.
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

/// What the kernel refuses, from here on, to this thread and to all that come after it.
fn this_thread(port: u16) -> io::Result<()> {
    set_no_new_privs(true)?;
    files::child(port).map_err(io::Error::other)?;
    seccomp::restrict(Process::Fetch).map_err(io::Error::other)
}

#[cfg(test)]
mod tests;
