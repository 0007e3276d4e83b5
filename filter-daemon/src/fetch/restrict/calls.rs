//! seccomp: the system calls that fetching takes, and no others. The rest is refused, not punished: the C library tries
//! things (to ask a cache of names, to load code that knows more names) that it can do without.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};

/// Whatever their arguments.
const ALLOWED: &[i64] = &[
    // To talk to those it is connected to.
    libc::SYS_connect,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_ppoll,
    libc::SYS_fcntl,
    // To read a file from its beginning to its end.
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    // To have memory, time, and numbers that nobody can guess.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    // To know itself, to wait for itself, and to end.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];

/// The length of an address of the kernel's own (`sockaddr_nl`), which no address of the internet has: the C library asks
/// the kernel that way which families of addresses this host has.
const NETLINK_ADDRESS: u64 = 12;

/// How much a program for seccomp looks like: an architecture that is not known is one that is not restricted.
fn program() -> Result<BpfProgram, Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    for (call, cases) in with_conditions()? {
        rules.insert(call, cases);
    }
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    Ok(SeccompFilter::new(rules, refuse, SeccompAction::Allow, architecture)?.try_into()?)
}

/// What is allowed for some of what it does.
fn with_conditions() -> Result<Vec<(i64, Vec<SeccompRule>)>, BackendError> {
    let writing =
        (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE & !libc::O_DIRECTORY) as u64;
    let family = |family: i32| is(0, family as u64);
    Ok(vec![
        // The internet over TCP and UDP; and the kernel, to ask what addresses this host has.
        (
            libc::SYS_socket,
            vec![
                SeccompRule::new(vec![family(libc::AF_INET)?])?,
                SeccompRule::new(vec![family(libc::AF_INET6)?])?,
                SeccompRule::new(vec![family(libc::AF_NETLINK)?, is(2, libc::NETLINK_ROUTE as u64)?])?,
            ],
        ),
        (libc::SYS_bind, vec![SeccompRule::new(vec![is(2, NETLINK_ADDRESS)?])?]),
        (libc::SYS_openat, vec![SeccompRule::new(vec![is_without(2, writing)?])?]),
        // Memory, but none that could be run.
        (libc::SYS_mmap, vec![SeccompRule::new(vec![is_without(2, libc::PROT_EXEC as u64)?])?]),
        (libc::SYS_mprotect, vec![SeccompRule::new(vec![is_without(2, libc::PROT_EXEC as u64)?])?]),
        // Not to wait, and how much there is to be read.
        (
            libc::SYS_ioctl,
            vec![
                SeccompRule::new(vec![is(1, libc::FIONBIO)?])?,
                SeccompRule::new(vec![is(1, libc::FIONREAD)?])?,
            ],
        ),
    ])
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_without(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), 0)
}

/// Restricts this thread, and all that come after it.
pub fn restrict() -> Result<(), Error> {
    apply_filter(&program()?)
}
