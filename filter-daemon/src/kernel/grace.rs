//! A grace period: when it is over, every packet that was being judged when it began has left the judge.

use std::io;

use rustix::thread::{MembarrierCommand, membarrier};

/// Waits for a grace period: 8 to 20 ms on most machines, so never in the path of a request. This kind of membarrier
/// waits for all readers of RCU, among them every running XDP program.
///
/// Fails on kernels booted with `nohz_full`, which refuse it.
pub fn wait() -> io::Result<()> {
    Ok(membarrier(MembarrierCommand::Global)?)
}
