//! A network namespace of one's own: made, entered by a thread, removed together with its interfaces.

use std::fs::{self, File};
use std::io::Write;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use nix::sched::{CloneFlags, setns};

/// `ip netns add` prepares /run/netns on first use and is not safe against itself.
static MAKING: Mutex<()> = Mutex::new(());

/// A named network namespace, removed when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes an empty namespace, in which every interface will be silent but for the story.
    pub fn new(name: String) -> Self {
        let making = MAKING.lock();
        run(Command::new("ip").args(["netns", "add", &name]), "");
        drop(making);
        let namespace = Self { name };
        namespace.inside(hush);
        namespace
    }

    /// The name that `ip netns` knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip` with these words inside the namespace and returns what it prints.
    pub fn ip(&self, words: &str) -> String {
        run(Command::new("ip").args(["-n", &self.name]).args(words.split(' ')), "")
    }

    /// Runs several `ip` commands, a line each. One process does them all: in a guest, starting it takes the most time.
    pub fn ip_all(&self, commands: &str) {
        run(Command::new("ip").args(["-n", &self.name, "-batch", "-"]), commands);
    }

    /// A command that will run inside the namespace, under its own process id.
    ///
    /// Not `ip netns exec`: that mounts a fresh /sys, in which the pinned maps are missing.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path().display())).arg("--").arg(program);
        command
    }

    /// Does something inside the namespace; sockets opened there stay there.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(self.path()).expect("the namespace lives as long as we do");
        let visit = move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).expect("root may enter a namespace");
            act()
        };
        thread::scope(|scope| scope.spawn(visit).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    fn path(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // A leftover is removed by the next run; a panic here would hide the story's own.
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// No router advertisements, and no address of its own making, on any interface that comes after this.
fn hush() {
    for (setting, value) in [("accept_ra", "0"), ("addr_gen_mode", "1"), ("accept_dad", "0")] {
        let path = format!("/proc/sys/net/ipv6/conf/default/{setting}");
        fs::write(path, value).expect("root may set sysctls of its own namespace");
    }
}

/// Runs a program with this on its standard input, and returns what it prints.
fn run(command: &mut Command, input: &str) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let mut words = child.stdin.take().expect("it is piped");
    // One that ends before it has read everything says why on its standard error.
    let _ = words.write_all(input.as_bytes());
    drop(words);
    let output = child.wait_with_output().expect("it was started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {said}(the network ring needs root)\n{input}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
