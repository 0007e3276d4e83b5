//! Waits for a grace period: after it, every packet that was being judged when it began has left the judge.

use std::io;

use rustix::thread::{MembarrierCommand, membarrier};

/// Waits for a grace period. This takes 8 to 20 ms on most machines, so it must not run in the path of a
/// request. This kind of membarrier waits for all readers of RCU, and every running XDP program is one.
///
/// Fails on kernels booted with `nohz_full`, which refuse it.
pub fn wait() -> io::Result<()> {
    Ok(membarrier(MembarrierCommand::Global)?)
}
