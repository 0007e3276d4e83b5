//! A process of which the kernel refuses a call: strace says it in the kernel's place.

use crate::children_of;
use crate::limited::LimitedChild;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// It refuses until it is ended or dropped.
#[derive(Debug)]
pub struct Refusal(Child);

impl Refusal {
    /// Of this process, in strace's words: `bpf:error=ENOMEM`.
    pub fn of(process: u32, injection: &str) -> Self {
        let call = injection.split(':').next().expect("it begins with a call");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qqq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
        strace.args(["-e", &format!("inject={injection}"), "-p", &process.to_string()]);
        let strace = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        wait_until_traced(process);
        Self(strace.expect("strace can be run"))
    }

    /// It is not refused but takes this long to come back, so that what is done meanwhile can be seen.
    pub fn delay(process: u32, call: &str, time: Duration) -> Self {
        Self::of(process, &format!("{call}:delay_exit={}", time.as_micros()))
    }

    /// The kernel is well again.
    pub fn end(mut self) {
        let id = i32::try_from(self.0.id()).expect("process ids are small");
        kill(Pid::from_raw(id), Signal::SIGINT).expect("it is our child");
        self.0.limited_wait().expect("it is our child");
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.limited_wait();
    }
}

/// What puts `strace` before a program whose kernel refuses it something from its first moment on: who is started keeps its
/// process id.
pub fn without(injection: &str) -> Vec<String> {
    let call = injection.split(':').next().expect("it begins with a call");
    let (traced, injected) = (format!("trace={call}"), format!("inject={injection}"));
    ["strace", "-D", "-f", "-qqq", "-o", "/dev/null", "-e", &traced, "-e", &injected]
        .map(str::to_owned)
        .into()
}

/// The privileged process of this daemon.
pub fn keeper_of(daemon: u32) -> u32 {
    child_of(daemon, "filterd-broker")
}

/// The process from which this daemon has its fetches started.
pub fn fetcher_of(daemon: u32) -> u32 {
    child_of(daemon, "filterd-fetcher")
}

/// The processes that fetch for this daemon at the moment.
pub fn fetches_of(daemon: u32) -> Vec<u32> {
    let fetcher = fetcher_of(daemon);
    children_of(fetcher).expect("it runs")
}

/// The one child that calls itself this.
#[track_caller]
fn child_of(daemon: u32, name: &str) -> u32 {
    let children = children_of(daemon).expect("it runs");
    let is_called = |child: &&u32| {
        fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|comm| comm.trim() == name)
    };
    let found = children.iter().find(is_called);
    found.copied().unwrap_or_else(|| panic!("no {name} among its children: {children:?}"))
}

/// Waits until strace has this process in hand.
#[track_caller]
pub fn wait_until_traced(process: u32) {
    wait_until("strace takes hold", || tracer_of(process) != "0");
}

fn tracer_of(process: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.expect("it is told").trim().to_owned()
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        sleep(Duration::from_millis(2));
    }
}
