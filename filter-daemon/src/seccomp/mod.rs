//! seccomp filters: which system calls each process of filterd may make. `table` defines them, and
//! SECURITY.md shows that table.
//!
//! The fetching process may make only the calls that the table permits, because it lives for seconds and
//! does one thing. For the other processes, such a list would be fragile. A new C library or kernel may use
//! a call that is not on it, and the daemon would end at night. They may therefore make every call that the
//! table does not refuse. Calls newer than [`NEWEST`] fail as on a kernel that does not know them. A
//! refused call fails with EPERM, and the process continues.

mod table;

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter, sock_filter,
};

use table::{ArgumentTest, CallRule, DEEDS};

/// The newest call of Linux 6.1, the oldest kernel that filterd is tested on. Numbers from 424 on are equal
/// on all processors.
const NEWEST: u32 = 450;

/// A process of filterd, and its column in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessKind {
    /// The daemon, which reads lists and talks to clients.
    Daemon,
    /// The broker, which holds the kernel objects.
    Broker,
    /// The process that starts fetches. Its children inherit its filter, so it refuses nothing that they
    /// need.
    Fetcher,
    /// A process that makes one fetch.
    Fetch,
}

impl ProcessKind {
    const fn column(self) -> usize {
        match self {
            Self::Daemon => 0,
            Self::Broker => 1,
            Self::Fetcher => 2,
            Self::Fetch => 3,
        }
    }

    const fn refuses_what_is_not_listed(self) -> bool {
        matches!(self, Self::Fetch)
    }
}

/// Restricts this thread and all threads and processes that it starts later. This cannot be undone.
pub fn restrict(process: ProcessKind) -> Result<(), Error> {
    apply_filter(&filter(process)?)?;
    if process.refuses_what_is_not_listed() {
        return Ok(());
    }
    // If two filters refuse a call, the newer one decides how.
    apply_filter(&unknown_calls())
}

/// Builds the filter that allows a call or refuses it. On an unknown architecture it fails, and nothing is
/// restricted.
fn filter(process: ProcessKind) -> Result<BpfProgram, Error> {
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    Ok(SeccompFilter::new(allowed(process)?, refuse, SeccompAction::Allow, architecture)?.try_into()?)
}

/// The calls that a process may make, each with the permitted cases; an empty list permits all.
fn allowed(process: ProcessKind) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut allowed = BTreeMap::new();
    if !process.refuses_what_is_not_listed() {
        allowed.extend((0..=i64::from(NEWEST)).map(|call| (call, Vec::new())));
    }
    for deed in DEEDS {
        for call in deed.calls {
            match deed.rules[process.column()] {
                CallRule::Yes => _ = allowed.insert(*call, Vec::new()),
                CallRule::No => _ = allowed.remove(call),
                CallRule::Only(_, cases) => {
                    let cases: Result<Vec<_>, _> = cases.iter().map(|case| rule(case)).collect();
                    allowed.insert(*call, cases?);
                }
            }
        }
    }
    Ok(allowed)
}

fn rule(case: &[ArgumentTest]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(case.iter().map(|test| condition(*test)).collect::<Result<_, _>>()?)
}

fn condition(test: ArgumentTest) -> Result<SeccompCondition, BackendError> {
    let (argument, operator, value) = match test {
        ArgumentTest::Is(argument, value) => (argument, SeccompCmpOp::Eq, value),
        ArgumentTest::IsNot(argument, value) => (argument, SeccompCmpOp::Ne, value),
        ArgumentTest::Without(argument, bits) => (argument, SeccompCmpOp::MaskedEq(bits), 0),
        ArgumentTest::Bits(argument, mask, value) => (argument, SeccompCmpOp::MaskedEq(mask), value),
        ArgumentTest::IsOwnProcess(argument) => (argument, SeccompCmpOp::Eq, u64::from(std::process::id())),
    };
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Fails with ENOSYS for calls newer than filterd, for those of the x32 ABI, and for clone3, whose flags a
/// filter cannot read. The C library then uses clone instead.
fn unknown_calls() -> BpfProgram {
    let step = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    let (load, number) = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0);
    let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    vec![
        step(load, 0, 0, number),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 2, 0, libc::SYS_clone3 as u32),
        step(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 1, 0, NEWEST),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, unknown),
    ]
}

#[cfg(test)]
mod tests;
