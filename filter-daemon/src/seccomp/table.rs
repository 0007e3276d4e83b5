//! The table: groups of system calls, and which process of filterd may make them.

use nix::libc;

/// Whether a process may make these calls. All processes except the fetching one may make calls that the
/// table does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRule {
    Yes,
    No,
    /// Only in these cases, which the text describes. A case matches if all its tests do.
    Only(&'static str, &'static [&'static [ArgumentTest]]),
}

/// A test of the argument at this position, in its lower 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentTest {
    Is(u8, u64),
    IsNot(u8, u64),
    /// None of these bits is set.
    Without(u8, u64),
    /// The bits under this mask have this value.
    Bits(u8, u64, u64),
    /// It is the ID of this process.
    IsOwnProcess(u8),
}

/// A line of the table.
#[derive(Debug)]
pub struct CallGroup {
    /// The purpose of the calls, for SECURITY.md.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test holds SECURITY.md to it"))]
    pub name: &'static str,
    pub calls: &'static [i64],
    /// The rules for the daemon, the broker, filterd-fetcher and filterd-fetch.
    pub rules: [CallRule; 4],
}

use ArgumentTest::{Bits, Is, IsNot, IsOwnProcess, Without};
use CallRule::{No, Only, Yes};

const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP) as u64;

const THREADS: CallRule =
    Only("threads only", &[&[Bits(0, NAMESPACES | libc::CLONE_THREAD as u64, libc::CLONE_THREAD as u64)]]);

const PROCESSES: CallRule = Only("without new namespaces", &[&[Without(0, NAMESPACES)]]);

/// The socket type is in the lowest bits; flags are above.
const KIND: u64 = 0xf;

const STREAM: ArgumentTest = Bits(1, KIND, libc::SOCK_STREAM as u64);
const DATAGRAM: ArgumentTest = Bits(1, KIND, libc::SOCK_DGRAM as u64);

/// The default protocol. MPTCP and SCTP stay refused, because Landlock does not limit them.
const USUAL: ArgumentTest = Is(2, 0);
const TCP: ArgumentTest = Is(2, libc::IPPROTO_TCP as u64);
const UDP: ArgumentTest = Is(2, libc::IPPROTO_UDP as u64);

const INET: ArgumentTest = Is(0, libc::AF_INET as u64);
const INET6: ArgumentTest = Is(0, libc::AF_INET6 as u64);
const NETLINK: ArgumentTest = Is(0, libc::AF_NETLINK as u64);
const ROUTES: ArgumentTest = Is(2, libc::NETLINK_ROUTE as u64);
const SOCKETS: ArgumentTest = Is(2, libc::NETLINK_SOCK_DIAG as u64);

/// Generic netlink, which reports the features of drivers.
const GENERIC: ArgumentTest = Is(2, libc::NETLINK_GENERIC as u64);

const LISTENERS_SOCKETS: CallRule = Only(
    "TCP, netlink (routes, sockets, generic)",
    &[
        &[INET, STREAM, USUAL],
        &[INET, STREAM, TCP],
        &[INET6, STREAM, USUAL],
        &[INET6, STREAM, TCP],
        &[NETLINK, ROUTES],
        &[NETLINK, SOCKETS],
        &[NETLINK, GENERIC],
    ],
);

const CLIENTS_SOCKETS: CallRule = Only(
    "TCP, UDP, netlink (routes)",
    &[
        &[INET, STREAM, USUAL],
        &[INET, STREAM, TCP],
        &[INET, DATAGRAM, USUAL],
        &[INET, DATAGRAM, UDP],
        &[INET6, STREAM, USUAL],
        &[INET6, STREAM, TCP],
        &[INET6, DATAGRAM, USUAL],
        &[INET6, DATAGRAM, UDP],
        &[NETLINK, ROUTES],
    ],
);

/// The C library looks up interface indices through any datagram socket. This one never connects.
const NETLINK_SOCKETS: CallRule = Only(
    "netlink (routes), Unix datagrams",
    &[&[NETLINK, ROUTES], &[Is(0, libc::AF_UNIX as u64), DATAGRAM, USUAL]],
);

/// The length of a netlink address (`sockaddr_nl`). Internet addresses are longer, and the kernel refuses
/// an address that is too short.
const NETLINK_ADDRESS: u64 = 12;

const TO_THE_KERNEL: CallRule = Only("to netlink", &[&[Is(2, NETLINK_ADDRESS)]]);
const BOUND_TO_THE_KERNEL: CallRule = Only("netlink", &[&[Is(2, NETLINK_ADDRESS)]]);

/// Excludes messages that open a connection (TCP Fast Open).
const SLOWLY: CallRule = Only("over open connections", &[&[Without(3, libc::MSG_FASTOPEN as u64)]]);
const SLOWLY_IN_PARTS: CallRule = Only("over open connections", &[&[Without(2, libc::MSG_FASTOPEN as u64)]]);

const NO_CODE: CallRule = Only("not executable", &[&[Without(2, libc::PROT_EXEC as u64)]]);

const WRITING: u64 =
    (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE & !libc::O_DIRECTORY) as u64;

const READING: CallRule = Only("read only", &[&[Without(2, WRITING)]]);

/// Excludes the set-user-ID, set-group-ID and sticky bits.
const PLAIN_MODES: CallRule = Only("without set-user-id bits", &[&[Without(1, 0o7000)]]);

const INTO_NO_TERMINAL: CallRule =
    Only("not TIOCSTI, TIOCLINUX", &[&[IsNot(1, libc::TIOCSTI), IsNot(1, libc::TIOCLINUX)]]);

const WAITING: CallRule = Only("FIONBIO, FIONREAD", &[&[Is(1, libc::FIONBIO)], &[Is(1, libc::FIONREAD)]]);

/// `BPF_OBJ_GET_INFO_BY_FD`, to identify a descriptor that the broker has handed over.
const ABOUT_A_DESCRIPTOR: CallRule = Only("information about a descriptor", &[&[Is(0, 15)]]);

/// The permitted commands of `enum bpf_cmd`: maps and elements (0–4, 21, 22), programs (5), pins (6, 7),
/// information (15), the numbers of the programs on an interface (16), BTF (18), links (28, 29, 34). Excluded are
/// other programs and maps by ID, attachments without a link, test runs, tracing, iterators, statistics and
/// tokens.
const MAPS_PROGRAMS_LINKS: CallRule = Only(
    "maps, programs, pins and links, not by id",
    &[
        &[Is(0, 0)],
        &[Is(0, 1)],
        &[Is(0, 2)],
        &[Is(0, 3)],
        &[Is(0, 4)],
        &[Is(0, 5)],
        &[Is(0, 6)],
        &[Is(0, 7)],
        &[Is(0, 15)],
        &[Is(0, 16)],
        &[Is(0, 18)],
        &[Is(0, 21)],
        &[Is(0, 22)],
        &[Is(0, 28)],
        &[Is(0, 29)],
        &[Is(0, 34)],
    ],
);

/// Signal 0, because login records name processes.
const IS_IT_THERE: CallRule = Only("signal 0 only", &[&[Is(1, 0)]]);

const OWN_PROCESS: CallRule = Only("to itself only", &[&[IsOwnProcess(0)]]);

pub const DEEDS: &[CallGroup] = &[
    CallGroup {
        name: "run a program",
        calls: &[libc::SYS_execve, libc::SYS_execveat],
        rules: [No, No, Yes, No],
    },
    CallGroup {
        name: "start threads and processes",
        calls: &[libc::SYS_clone],
        rules: [THREADS, THREADS, PROCESSES, No],
    },
    CallGroup {
        name: "start a process",
        calls: &[
            #[cfg(target_arch = "x86_64")]
            libc::SYS_fork,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_vfork,
        ],
        rules: [No, No, Yes, No],
    },
    CallGroup {
        name: "enter or make namespaces",
        calls: &[libc::SYS_unshare, libc::SYS_setns],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "mount, change the root",
        calls: &[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_move_mount,
            libc::SYS_open_tree,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_mount_setattr,
            libc::SYS_swapon,
            libc::SYS_swapoff,
            libc::SYS_quotactl,
            libc::SYS_acct,
        ],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "change the mode of a file by its name",
        calls: &[
            libc::SYS_fchmodat,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chmod,
        ],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "change the mode of an open file",
        calls: &[libc::SYS_fchmod],
        rules: [PLAIN_MODES, No, No, No],
    },
    CallGroup {
        name: "change the owner or attributes of a file",
        calls: &[
            libc::SYS_fchown,
            libc::SYS_fchownat,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chown,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_lchown,
            libc::SYS_setxattr,
            libc::SYS_lsetxattr,
            libc::SYS_fsetxattr,
            libc::SYS_removexattr,
            libc::SYS_lremovexattr,
            libc::SYS_fremovexattr,
        ],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "make devices and pipes in directories",
        calls: &[
            libc::SYS_mknodat,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mknod,
        ],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "become another user, change capabilities",
        calls: &[
            libc::SYS_setuid,
            libc::SYS_setgid,
            libc::SYS_setreuid,
            libc::SYS_setregid,
            libc::SYS_setresuid,
            libc::SYS_setresgid,
            libc::SYS_setfsuid,
            libc::SYS_setfsgid,
            libc::SYS_setgroups,
            libc::SYS_capset,
        ],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "read, write or trace other processes",
        calls: &[
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_process_madvise,
            libc::SYS_process_mrelease,
            libc::SYS_pidfd_getfd,
            libc::SYS_kcmp,
            libc::SYS_perf_event_open,
        ],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "open other processes (pidfd)",
        calls: &[libc::SYS_pidfd_open],
        rules: [No, No, Yes, No],
    },
    CallGroup { name: "send signals", calls: &[libc::SYS_kill], rules: [IS_IT_THERE, No, Yes, No] },
    CallGroup {
        name: "send signals in other ways",
        calls: &[
            libc::SYS_tkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_rt_tgsigqueueinfo,
            libc::SYS_pidfd_send_signal,
        ],
        rules: [No, No, Yes, No],
    },
    CallGroup {
        name: "send signals to threads",
        calls: &[libc::SYS_tgkill],
        rules: [OWN_PROCESS, OWN_PROCESS, Yes, No],
    },
    CallGroup {
        name: "use io_uring",
        calls: &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "userfaultfd, System V shared memory",
        calls: &[libc::SYS_userfaultfd, libc::SYS_shmget, libc::SYS_shmat],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "use kernel keyrings",
        calls: &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "load modules or kernels, restart the machine",
        calls: &[
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_kexec_load,
            libc::SYS_kexec_file_load,
            libc::SYS_reboot,
        ],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "set the clock, the host's name, the kernel's log",
        calls: &[
            libc::SYS_settimeofday,
            libc::SYS_clock_settime,
            libc::SYS_clock_adjtime,
            libc::SYS_adjtimex,
            libc::SYS_sethostname,
            libc::SYS_setdomainname,
            libc::SYS_syslog,
            libc::SYS_vhangup,
        ],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "change execution domain and I/O privileges",
        calls: &[
            libc::SYS_personality,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_modify_ldt,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_ioperm,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_iopl,
        ],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "open files by handle, watch whole file systems",
        calls: &[libc::SYS_open_by_handle_at, libc::SYS_fanotify_init],
        rules: [No, No, No, No],
    },
    CallGroup {
        name: "bpf",
        calls: &[libc::SYS_bpf],
        rules: [ABOUT_A_DESCRIPTOR, MAPS_PROGRAMS_LINKS, No, No],
    },
    CallGroup {
        name: "open a socket",
        calls: &[libc::SYS_socket],
        rules: [LISTENERS_SOCKETS, NETLINK_SOCKETS, CLIENTS_SOCKETS, CLIENTS_SOCKETS],
    },
    CallGroup {
        name: "connect",
        calls: &[libc::SYS_connect],
        rules: [TO_THE_KERNEL, TO_THE_KERNEL, Yes, Yes],
    },
    CallGroup {
        name: "send",
        calls: &[libc::SYS_sendto, libc::SYS_sendmmsg],
        rules: [SLOWLY, SLOWLY, Yes, Yes],
    },
    CallGroup {
        name: "send in parts",
        calls: &[libc::SYS_sendmsg],
        rules: [SLOWLY_IN_PARTS, SLOWLY_IN_PARTS, Yes, Yes],
    },
    CallGroup {
        name: "bind a socket",
        calls: &[libc::SYS_bind],
        rules: [Yes, BOUND_TO_THE_KERNEL, BOUND_TO_THE_KERNEL, BOUND_TO_THE_KERNEL],
    },
    CallGroup {
        name: "listen",
        calls: &[libc::SYS_listen, libc::SYS_accept4, libc::SYS_accept],
        rules: [Yes, No, No, No],
    },
    CallGroup {
        name: "map memory",
        calls: &[libc::SYS_mmap, libc::SYS_mprotect],
        rules: [NO_CODE, NO_CODE, Yes, NO_CODE],
    },
    CallGroup {
        name: "use memory protection keys",
        calls: &[libc::SYS_pkey_mprotect],
        rules: [No, No, No, No],
    },
    CallGroup { name: "open a file", calls: &[libc::SYS_openat], rules: [Yes, Yes, Yes, READING] },
    CallGroup {
        name: "ioctl",
        calls: &[libc::SYS_ioctl],
        rules: [INTO_NO_TERMINAL, INTO_NO_TERMINAL, INTO_NO_TERMINAL, WAITING],
    },
    CallGroup {
        name: "read, write and poll open descriptors",
        calls: &[
            libc::SYS_getpeername,
            libc::SYS_getsockname,
            libc::SYS_getsockopt,
            libc::SYS_setsockopt,
            libc::SYS_shutdown,
            libc::SYS_recvfrom,
            libc::SYS_recvmsg,
            libc::SYS_read,
            libc::SYS_readv,
            libc::SYS_write,
            libc::SYS_writev,
            libc::SYS_close,
            libc::SYS_ppoll,
            libc::SYS_fcntl,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll,
        ],
        rules: [Yes; 4],
    },
    CallGroup {
        name: "stat and seek",
        calls: &[libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_lseek],
        rules: [Yes; 4],
    },
    CallGroup {
        name: "read clocks, own ids and random numbers",
        calls: &[
            libc::SYS_clock_gettime,
            libc::SYS_clock_nanosleep,
            libc::SYS_gettimeofday,
            libc::SYS_getrandom,
            libc::SYS_getpid,
            libc::SYS_gettid,
            libc::SYS_getuid,
            libc::SYS_geteuid,
            libc::SYS_getgid,
            libc::SYS_getegid,
            libc::SYS_uname,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_time,
        ],
        rules: [Yes; 4],
    },
    CallGroup {
        name: "free memory, wait for own threads, exit",
        calls: &[
            libc::SYS_brk,
            libc::SYS_munmap,
            libc::SYS_mremap,
            libc::SYS_madvise,
            libc::SYS_futex,
            libc::SYS_sched_yield,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_sigaltstack,
            libc::SYS_restart_syscall,
            libc::SYS_exit,
            libc::SYS_exit_group,
        ],
        rules: [Yes; 4],
    },
];
