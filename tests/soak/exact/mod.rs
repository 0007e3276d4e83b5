//! Every IPv4 address there is, and every place at which an IPv6 list's answer changes, through the programs as the kernel
//! made them: each verdict is compared with what it should be.

mod asker;
mod four;
mod life;
mod six;

use std::fs;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// How many were not treated as they should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wrong {
    dropped: usize,
    passed: usize,
}

impl Wrong {
    const NONE: Self = Self { dropped: 0, passed: 0 };

    /// Of 64 sources, a bit for each.
    fn between(listed: u64, dropped: u64) -> Self {
        let count = |bits: u64| bits.count_ones() as usize;
        Self { dropped: count(dropped & !listed), passed: count(listed & !dropped) }
    }

    fn and(self, other: Self) -> Self {
        Self { dropped: self.dropped + other.dropped, passed: self.passed + other.passed }
    }
}

fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, usize::from) as u64
}

/// filterd's counters are each processor's own, so whoever reads them from within must stay on one.
fn stay_on(processor: u64) {
    let mut here = CpuSet::new();
    here.set(processor as usize).expect("there is such a processor");
    sched_setaffinity(Pid::from_raw(0), &here).expect("a thread may stay where it is");
}

/// Interpreted programs would be something else.
fn assert_programs_are_compiled() {
    assert_eq!(fs::read_to_string("/proc/sys/net/core/bpf_jit_enable").unwrap_or_default().trim(), "1");
}
