//! A grace period: when it is over, every packet that was being judged when it began has left the judge.
#![allow(unsafe_code, reason = "membarrier has no safe wrapper")]

use std::io;

/// Asks the kernel to wait for all readers of RCU, among them every running XDP program.
const MEMBARRIER_CMD_GLOBAL: i32 = 1;

/// Waits for a grace period: 8 to 20 ms on most machines, so never in the path of a request.
///
/// Fails on kernels booted with `nohz_full`, which refuse this kind of membarrier.
pub fn wait() -> io::Result<()> {
    // SAFETY: this command takes no pointers and changes no memory.
    let result = unsafe { nix::libc::syscall(nix::libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
