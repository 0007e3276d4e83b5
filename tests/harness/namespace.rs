//! A network namespace of one's own: made, entered by a thread, removed together with its interfaces.
//!
//! Made as `ip netns add` makes it, so that `ip -n` knows it, but without a process: in an emulated guest that takes as long
//! as a hundred system calls.

use crate::limited::LimitedChild;
use std::fs::{self, File};
use std::io::Write;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::thread;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};

/// Where `ip` keeps the names of namespaces.
pub const NAMES: &str = "/run/netns";

/// The namespace of this thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// A named network namespace, removed when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes an empty namespace, in which every interface will be silent but for the story.
    pub fn new(name: String) -> Self {
        prepare();
        let namespace = Self { name };
        let path = namespace.path();
        File::create_new(&path).expect("the name is unique");
        apart(|| {
            unshare(CloneFlags::CLONE_NEWNET).expect("root may make a namespace");
            hold(Path::new(OWN), &path, MsFlags::MS_BIND);
            hush();
        });
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
        self.entrance().command(program)
    }

    /// Does something inside the namespace; sockets opened there stay there.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        self.entrance().inside(act)
    }

    /// The way in, for what cannot borrow the namespace.
    pub fn entrance(&self) -> Entrance {
        Entrance(self.path())
    }

    /// Sets one of the kernel's settings that each namespace has, below /proc/sys/net.
    pub fn set(&self, setting: &str, value: &str) {
        self.inside(|| set(setting, value));
    }

    /// As `inside`, on this very thread, whose children stay there. `setpriv --pdeathsig` minds the end of the thread that started
    /// it, so what is to live longer than a visit is started like this.
    pub fn entered<T>(&self, act: impl FnOnce() -> T) -> T {
        let _way_back = WayBack(File::open(OWN).expect("a thread has a namespace"));
        let namespace = File::open(self.path()).expect("the namespace lives as long as we do");
        setns(namespace, CloneFlags::CLONE_NEWNET).expect("root may enter a namespace");
        act()
    }

    fn path(&self) -> PathBuf {
        Path::new(NAMES).join(&self.name)
    }
}

/// The way into a namespace that somebody else removes.
#[derive(Clone, Debug)]
pub struct Entrance(PathBuf);

impl Entrance {
    /// As [`Namespace::command`].
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.0.display())).arg("--").arg(program);
        command
    }

    /// As [`Namespace::inside`].
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(&self.0).expect("the namespace has not been removed yet");
        apart(move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).expect("root may enter a namespace");
            act()
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // A leftover is removed by the next run; a panic here would hide the story's own.
        remove(&self.path());
    }
}

/// Where a thread came from.
struct WayBack(File);

impl Drop for WayBack {
    fn drop(&mut self) {
        setns(&self.0, CloneFlags::CLONE_NEWNET).expect("root may go back");
    }
}

/// Takes a namespace's name away. What was only held by it goes with it.
pub fn remove(path: &Path) {
    let _ = umount2(path, MntFlags::MNT_DETACH);
    let _ = fs::remove_file(path);
}

/// As `ip` does on first use: the names are mounts, which other namespaces of mounts are to see.
fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        let names = Path::new(NAMES);
        fs::create_dir_all(names).expect("root may write to /run");
        let shared =
            || mount(None::<&str>, names, None::<&str>, MsFlags::MS_SHARED | MsFlags::MS_REC, None::<&str>);
        if shared().is_err() {
            hold(names, names, MsFlags::MS_BIND | MsFlags::MS_REC);
            shared().expect("root may share mounts");
        }
    });
}

fn hold(what: &Path, place: &Path, how: MsFlags) {
    mount(Some(what), place, None::<&str>, how, None::<&str>).expect("root may mount");
}

/// In a thread of its own, whose namespace nobody else has.
fn apart<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(act).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// No router advertisements, and no address of its own making, on any interface that comes after this.
fn hush() {
    for (setting, value) in [("accept_ra", "0"), ("addr_gen_mode", "1"), ("accept_dad", "0")] {
        set(&format!("ipv6/conf/default/{setting}"), value);
    }
}

/// Of the namespace that this thread is in.
fn set(setting: &str, value: &str) {
    fs::write(Path::new("/proc/sys/net").join(setting), value).expect("root may set it");
}

/// Runs a program with this on its standard input, and returns what it prints.
fn run(command: &mut Command, input: &str) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let mut words = child.stdin.take().expect("it is piped");
    // One that ends before it has read everything says why on its standard error.
    let _ = words.write_all(input.as_bytes());
    drop(words);
    let output = child.limited_wait_with_output().expect("it was started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {said}(the network ring needs root)\n{input}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
