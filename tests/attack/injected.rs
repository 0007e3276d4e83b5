//! Each process of filterd's is made to make system calls that it has no use for, as code would that somebody brought in.
#![cfg(target_arch = "x86_64")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use harness::injection::{Argument, Injection};
use harness::{ATTACKER, BYSTANDER, Home, Net, fetcher_of, keeper_of};
use nix::libc::{self, EACCES, EBADF, ENOSYS, EPERM};

use Argument::{Bytes, Number};

/// It is done. Only what does no harm is tried where this is expected.
const DONE: i32 = 0;

/// It is not tried: it would be done.
const UNTRIED: i32 = -1;

/// Files of this test: one that everybody may write to, and a program.
const PRECIOUS: &str = "$HOME/precious";

/// What is tried, and what becomes of it in the daemon, the broker and filterd-fetcher.
type Attempt = (&'static str, i64, &'static [Value], [i32; 3]);

/// An argument, of which paths are known only when the test runs.
#[derive(Clone, Copy)]
enum Value {
    Of(u64),
    Path(&'static str),
    /// Zeros.
    Room,
}

use Value::{Of, Path, Room};

const HERE: Value = Of(libc::AT_FDCWD as u64);
const NOBODY_CHILD: u64 = (libc::CLONE_NEWUSER | libc::SIGCHLD) as u64;
const X32: i64 = 0x4000_0000;
const FCHMODAT2: i64 = 452;
const MPTCP: u64 = 262;
const NO_DESCRIPTOR: Value = Of(u64::MAX);

const ATTEMPTS: &[Attempt] = &[
    ("set a mode by name", libc::SYS_chmod, &[Path(PRECIOUS), Of(0o4755)], [EPERM; 3]),
    ("set a mode below a directory", libc::SYS_fchmodat, &[HERE, Path(PRECIOUS), Of(0o4755)], [EPERM; 3]),
    ("the same by the newest call", FCHMODAT2, &[HERE, Path(PRECIOUS), Of(0o4755)], [ENOSYS; 3]),
    ("the same by another numbering", X32 | libc::SYS_chmod, &[Path(PRECIOUS), Of(0o4755)], [ENOSYS; 3]),
    ("run as the owner of an open file", libc::SYS_fchmod, &[Of(0), Of(0o4755)], [EPERM; 3]),
    ("give a file away", libc::SYS_chown, &[Path(PRECIOUS), Of(1), Of(1)], [EPERM; 3]),
    (
        "give attributes to a file",
        libc::SYS_setxattr,
        &[Path(PRECIOUS), Path("user.a"), Room, Of(1), Of(0)],
        [EPERM; 3],
    ),
    (
        "write to a file of everybody's",
        libc::SYS_openat,
        &[HERE, Path(PRECIOUS), Of(libc::O_WRONLY as u64)],
        [EACCES; 3],
    ),
    (
        "make a file",
        libc::SYS_openat,
        &[HERE, Path("$HOME/open/new"), Of((libc::O_WRONLY | libc::O_CREAT) as u64), Of(0o600)],
        [EACCES; 3],
    ),
    ("remove a file", libc::SYS_unlinkat, &[HERE, Path("$HOME/open/file"), Of(0)], [EACCES; 3]),
    (
        "make a device",
        libc::SYS_mknodat,
        &[HERE, Path("$HOME/open/new"), Of((libc::S_IFCHR | 0o666) as u64), Of(0x103)],
        [EPERM; 3],
    ),
    ("make a user namespace", libc::SYS_unshare, &[Of(libc::CLONE_NEWUSER as u64)], [EPERM; 3]),
    ("enter a namespace", libc::SYS_setns, &[Of(0), Of(0)], [EPERM; 3]),
    ("start a process in a namespace", libc::SYS_clone, &[Of(NOBODY_CHILD)], [EPERM; 3]),
    ("start one by a call that no filter reads", libc::SYS_clone3, &[Room, Of(88)], [ENOSYS; 3]),
    ("start a process", libc::SYS_fork, &[], [EPERM, EPERM, UNTRIED]),
    ("run a program", libc::SYS_execve, &[Path("/bin/true"), Of(0), Of(0)], [EPERM, EPERM, UNTRIED]),
    (
        "run an open program",
        libc::SYS_execveat,
        &[Of(0), Path(""), Of(0), Of(0), Of(libc::AT_EMPTY_PATH as u64)],
        [EPERM, EPERM, UNTRIED],
    ),
    ("mount", libc::SYS_mount, &[Path("none"), Path("/mnt"), Path("tmpfs"), Of(0), Of(0)], [EPERM; 3]),
    ("mount in another way", libc::SYS_fsopen, &[Path("tmpfs"), Of(0)], [EPERM; 3]),
    ("take another root", libc::SYS_chroot, &[Path("/")], [EPERM; 3]),
    ("become root", libc::SYS_setresuid, &[Of(0), Of(0), Of(0)], [EPERM; 3]),
    ("have other capabilities", libc::SYS_capset, &[Room, Room], [EPERM; 3]),
    ("trace a process", libc::SYS_ptrace, &[Of(libc::PTRACE_SEIZE as u64), Of(1), Of(0), Of(0)], [EPERM; 3]),
    (
        "read another's memory",
        libc::SYS_process_vm_readv,
        &[Of(1), Room, Of(1), Room, Of(1), Of(0)],
        [EPERM; 3],
    ),
    ("take a descriptor", libc::SYS_pidfd_getfd, &[Of(0), Of(0), Of(0)], [EPERM; 3]),
    (
        "watch events",
        libc::SYS_perf_event_open,
        &[Room, Of(0), NO_DESCRIPTOR, NO_DESCRIPTOR, Of(0)],
        [EPERM; 3],
    ),
    ("send a signal", libc::SYS_kill, &[Of(1), Of(libc::SIGWINCH as u64)], [EPERM; 3]),
    ("send one to a thread", libc::SYS_tgkill, &[Of(1), Of(1), Of(libc::SIGWINCH as u64)], [EPERM; 3]),
    ("use io_uring", libc::SYS_io_uring_setup, &[Of(1), Room], [EPERM; 3]),
    ("handle page faults", libc::SYS_userfaultfd, &[Of(1)], [EPERM; 3]),
    ("use keys of the kernel", libc::SYS_keyctl, &[Of(0), Of(0), Of(0)], [EPERM; 3]),
    ("load a module", libc::SYS_finit_module, &[Of(0), Path(""), Of(0)], [EPERM; 3]),
    ("load a kernel", libc::SYS_kexec_load, &[Of(0), Of(0), Of(0), Of(0)], [EPERM; 3]),
    ("set the clock", libc::SYS_clock_settime, &[Of(99), Room], [EPERM; 3]),
    ("run another kind of code", libc::SYS_personality, &[Of(0x0040_0000)], [EPERM; 3]),
    (
        "have memory that can be run",
        libc::SYS_mmap,
        &[
            Of(0),
            Of(4096),
            Of((libc::PROT_READ | libc::PROT_EXEC) as u64),
            Of((libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64),
            NO_DESCRIPTOR,
            Of(0),
        ],
        [EPERM, EPERM, UNTRIED],
    ),
    ("type into a terminal", libc::SYS_ioctl, &[Of(0), Of(libc::TIOCSTI), Room], [EPERM; 3]),
    // Of `enum bpf_cmd`: BPF_OBJ_GET, BPF_PROG_LOAD, BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID, BPF_RAW_TRACEPOINT_OPEN.
    ("open a pin", libc::SYS_bpf, &[Of(7), Room, Of(16)], [EPERM, UNTRIED, EPERM]),
    ("load a program", libc::SYS_bpf, &[Of(5), Room, Of(64)], [EPERM, UNTRIED, EPERM]),
    ("have another's program", libc::SYS_bpf, &[Of(13), Room, Of(16)], [EPERM; 3]),
    ("have another's map", libc::SYS_bpf, &[Of(14), Room, Of(16)], [EPERM; 3]),
    ("trace the kernel", libc::SYS_bpf, &[Of(17), Room, Of(16)], [EPERM; 3]),
    (
        "talk to services of this host",
        libc::SYS_socket,
        &[Of(libc::AF_UNIX as u64), Of(libc::SOCK_STREAM as u64), Of(0)],
        [EPERM; 3],
    ),
    (
        "send frames",
        libc::SYS_socket,
        &[Of(libc::AF_PACKET as u64), Of(libc::SOCK_RAW as u64), Of(0)],
        [EPERM; 3],
    ),
    (
        "have a raw socket",
        libc::SYS_socket,
        &[Of(libc::AF_INET as u64), Of(libc::SOCK_RAW as u64), Of(1)],
        [EPERM; 3],
    ),
    (
        "use the kernel's ciphers",
        libc::SYS_socket,
        &[Of(libc::AF_ALG as u64), Of(libc::SOCK_SEQPACKET as u64), Of(0)],
        [EPERM; 3],
    ),
    (
        "use multipath TCP",
        libc::SYS_socket,
        &[Of(libc::AF_INET as u64), Of(libc::SOCK_STREAM as u64), Of(MPTCP)],
        [EPERM; 3],
    ),
    (
        "send datagrams",
        libc::SYS_socket,
        &[Of(libc::AF_INET as u64), Of(libc::SOCK_DGRAM as u64), Of(0)],
        [EPERM, EPERM, DONE],
    ),
    (
        "have a TCP socket",
        libc::SYS_socket,
        &[Of(libc::AF_INET as u64), Of(libc::SOCK_STREAM as u64), Of(0)],
        [DONE, EPERM, DONE],
    ),
    ("connect", libc::SYS_connect, &[NO_DESCRIPTOR, Room, Of(16)], [EPERM, EPERM, EBADF]),
    ("connect over IPv6", libc::SYS_connect, &[NO_DESCRIPTOR, Room, Of(28)], [EPERM, EPERM, EBADF]),
    (
        "connect by sending",
        libc::SYS_sendto,
        &[NO_DESCRIPTOR, Room, Of(1), Of(libc::MSG_FASTOPEN as u64), Room, Of(16)],
        [EPERM, EPERM, EBADF],
    ),
    (
        "connect by a message",
        libc::SYS_sendmsg,
        &[NO_DESCRIPTOR, Room, Of(libc::MSG_FASTOPEN as u64)],
        [EPERM, EPERM, EBADF],
    ),
    ("listen", libc::SYS_listen, &[NO_DESCRIPTOR, Of(1)], [EBADF, EPERM, EPERM]),
];

#[test]
fn no_process_makes_calls_it_need_not_make() {
    let net = Net::with_filterd(&format!("block: [{ATTACKER}]"));
    // The daemon may remove what lies beside its socket.
    let elsewhere = Home::new();
    fs::create_dir(elsewhere.path("open")).expect("a home can be written");
    for name in ["precious", "open/file"] {
        let file = elsewhere.write(name, "precious");
        fs::set_permissions(file, Permissions::from_mode(0o666)).expect("it is ours");
    }
    fs::set_permissions(elsewhere.path("open"), Permissions::from_mode(0o777)).expect("it is ours");
    let home = elsewhere.path("").display().to_string();
    let home = home.trim_end_matches('/');
    let daemon = net.daemon().id();
    let processes =
        [("the daemon", daemon), ("the broker", keeper_of(daemon)), ("filterd-fetcher", fetcher_of(daemon))];
    let mut wrong = Vec::new();
    for (column, (name, process)) in processes.into_iter().enumerate() {
        let mut injection = Injection::begin(process);
        for (what, number, values, expected) in ATTEMPTS {
            let expected = expected[column];
            if expected == UNTRIED {
                continue;
            }
            let texts: Vec<Vec<u8>> = values.iter().map(|value| text(*value, home)).collect();
            let arguments: Vec<_> =
                values.iter().zip(&texts).map(|(value, text)| argument(*value, text)).collect();
            let got = injection.call(*number, &arguments);
            if got >= 0 && *number == libc::SYS_socket {
                injection.call(libc::SYS_close, &[Number(got as u64)]);
            }
            let is_so = if expected == DONE { got >= 0 } else { got == -i64::from(expected) };
            if !is_so {
                wrong.push(format!("{name}: {what}: {got}, and {} was expected", -expected));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // And each goes on with its work.
    net.filterd(["add", BYSTANDER]).succeeds();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["status"]).succeeds().says("Protected as configured");
}

fn text(value: Value, home: &str) -> Vec<u8> {
    match value {
        Of(_) => Vec::new(),
        Path(path) => path.replace("$HOME", home).bytes().chain([0]).collect(),
        Room => vec![0; 256],
    }
}

fn argument(value: Value, text: &[u8]) -> Argument<'_> {
    match value {
        Of(number) => Number(number),
        Path(_) | Room => Bytes(text),
    }
}
