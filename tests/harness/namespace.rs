//! A network namespace of one's own: made, entered by a thread, removed together with its interfaces.

use std::fs::File;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::Command;
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
    /// Makes an empty namespace with its loopback up.
    pub fn new(name: String) -> Self {
        let making = MAKING.lock();
        run("ip", &["netns", "add", &name]);
        drop(making);
        let namespace = Self { name };
        namespace.ip("link set lo up");
        namespace
    }

    /// The name that `ip netns` knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip` with these words inside the namespace and returns what it prints.
    pub fn ip(&self, words: &str) -> String {
        let arguments: Vec<&str> = ["-n", &self.name].into_iter().chain(words.split(' ')).collect();
        run("ip", &arguments)
    }

    /// Runs several `ip` commands, each in words.
    pub fn ip_all(&self, commands: impl IntoIterator<Item = String>) {
        commands.into_iter().for_each(|words| drop(self.ip(&words)));
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

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "`{program} {}` failed: {said}(the network ring needs root)",
        arguments.join(" ")
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
