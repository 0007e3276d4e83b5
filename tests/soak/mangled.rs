//! System calls at which filterd is killed, or which fail: strace counts them. A filter that was there before goes on, what
//! was acknowledged is there afterwards, and what went wrong is told.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Net, Traffic, children_of, home};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::rounds;

/// Stopping is a part of it, and must not end the filter either.
const BLOCKING: &str = "block: [203.0.113.7]\non_exit: keep";

/// The calls by which filterd changes anything: the kernel's maps and programs, its files, its memory, its socket.
const KILLED_AT: [&str; 14] = [
    "bpf",
    "pwrite64",
    "fdatasync",
    "fsync",
    "mmap",
    "sendmsg",
    "recvmsg",
    "openat",
    "close",
    "membarrier",
    "sendto",
    "recvfrom",
    "unlink",
    "epoll_wait",
];

/// Calls that can fail for want of something, and how.
const FAILING: [(&str, &str); 9] = [
    ("bpf", "ENOMEM"),
    ("bpf", "ENOSPC"),
    ("bpf", "EMFILE"),
    ("pwrite64", "ENOSPC"),
    ("pwrite64", "EIO"),
    ("fdatasync", "EIO"),
    ("mmap", "ENOMEM"),
    ("openat", "EMFILE"),
    ("ftruncate", "ENOSPC"),
];

#[test]
fn killed_at_any_call() {
    let at: &[usize] =
        if rounds(0, 1) == 0 { &[1, 20] } else { &[1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377] };
    let calls = if rounds(0, 1) == 0 { &KILLED_AT[..4] } else { &KILLED_AT };
    let cases =
        calls.iter().flat_map(|call| at.iter().map(move |at| format!("{call}:signal=SIGKILL:when={at}")));
    mangle(cases.collect());
}

#[test]
fn any_call_fails() {
    let at: &[usize] = if rounds(0, 1) == 0 { &[2] } else { &[1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144] };
    let failing = if rounds(0, 1) == 0 { &FAILING[..4] } else { &FAILING };
    let cases = failing
        .iter()
        .flat_map(|(call, error)| at.iter().map(move |at| format!("{call}:error={error}:when={at}")));
    mangle(cases.collect());
}

/// For each case: a filterd that was killed has left its filter, and another is started and used under this injection.
fn mangle(cases: Vec<String>) {
    let mut net = Net::with_filterd(BLOCKING);
    let traffic = Traffic::begin(net.host(), net.peer(), ATTACKER, BYSTANDER);
    let mut acknowledged = 0;
    let count = cases.len();
    for (number, case) in cases.into_iter().enumerate() {
        net.end(Signal::SIGKILL);
        let mut mangled = Mangled::start(&net, &case);
        let word = format!("198.19.{}.{}", number >> 8, number & 255);
        let is_acknowledged = mangled.use_it(&net, &word);
        mangled.end();
        net.start(BLOCKING);
        if is_acknowledged {
            net.filterd(["test", &word]).exits(0);
            acknowledged += 1;
        }
        let log = net.daemon().log();
        assert!(!log.contains("please report this"), "{case}: {log}");
    }
    let fate = traffic.end().is_flawless();
    println!(
        "{count} cases, {acknowledged} of them acknowledged an entry: none lost; 0 of {} listed frames passed",
        fate.sent
    );
}

/// A filterd under strace.
struct Mangled {
    strace: Child,
    log: PathBuf,
}

impl Mangled {
    fn start(net: &Net, injection: &str) -> Self {
        let log = net.home().path("mangled");
        let file = fs::File::create(&log).expect("a home can be written");
        let mut command: Command = net.host().command("strace");
        command.args(["-f", "-qqq", "-o", "/dev/null", "-e", "signal=none", "-e"]);
        let call = injection.split(':').next().expect("it begins with a call");
        command.arg(format!("trace={call}")).args(["-e", &format!("inject={injection}")]);
        command.arg(home::binary()).args(net.arguments(BLOCKING));
        let also = file.try_clone().expect("a file can be shared");
        let strace = command.stdin(Stdio::null()).stdout(file).stderr(also).spawn();
        Self { strace: strace.expect("strace can be run"), log }
    }

    /// Adds a little and a lot, removes, reloads. Tells whether `word` was acknowledged.
    fn use_it(&mut self, net: &Net, word: &str) -> bool {
        let begun = Instant::now();
        while self.is_alive() && begun.elapsed() < Duration::from_secs(5) {
            if net.filterd(["ping"]).output.contains("filterd") {
                break;
            }
            sleep(Duration::from_millis(5));
        }
        let acknowledged = net.filterd(["add", word, "--json"]).is_success();
        let many: String =
            (0..5000).map(|host: u32| format!("198.20.{}.{}\n", host >> 8, host & 255)).collect();
        for verb in ["add", "remove"] {
            net.filterd_reading([verb, "-"], &many);
        }
        net.filterd(["reload"]);
        acknowledged
    }

    fn is_alive(&mut self) -> bool {
        self.strace.try_wait().expect("it is our child").is_none()
    }

    /// Stops it, and kills what does not end: strace passes signals on to nobody, so its child is asked.
    fn end(mut self) {
        for (signal, patience) in [(Signal::SIGTERM, 5), (Signal::SIGKILL, 30)] {
            let id = self.strace.id();
            for child in children_of(id).unwrap_or_default() {
                let _ = kill(Pid::from_raw(child as i32), signal);
            }
            let begun = Instant::now();
            while self.is_alive() && begun.elapsed() < Duration::from_secs(patience) {
                sleep(Duration::from_millis(2));
            }
        }
        assert!(!self.is_alive(), "it does not end: {:?}", fs::read_to_string(&self.log));
    }
}
