//! The processor that a measurement runs on, and the time it takes there.

use std::time::Duration;

use nix::sched::{CpuSet, sched_getcpu, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// Keeps this thread on the processor that it is on, and so with its caches.
pub fn stay() -> nix::Result<()> {
    let mut here = CpuSet::new();
    here.set(sched_getcpu()?)?;
    sched_setaffinity(Pid::from_raw(0), &here)
}

/// How long this thread has run. Others that run in between disturb its caches, but do not count.
pub fn time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every thread has a clock").into()
}
