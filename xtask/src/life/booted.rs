//! A Debian that is booted by systemd-nspawn, at the end of a wire.

use std::cell::RefCell;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bpf_build::process;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::wire::{ITS_ADDRESS, Wire};
use crate::tools::Tools;

/// What the service needs beside what debootstrap's smallest has.
const INCLUDED: &str = "--include=systemd,systemd-sysv,iproute2,iputils-ping";

/// What nspawn itself forbids unless it is told: filterd's own calls.
const CALLS: &str = "--system-call-filter=bpf perf_event_open landlock_create_ruleset landlock_add_rule \
                     landlock_restrict_self";

/// What comes about by itself has come by then, on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// One that runs until this goes.
pub struct Booted {
    pub root: PathBuf,
    machine: RefCell<Machine>,
    wire: Wire,
    program: PathBuf,
}

/// A root as debootstrap leaves it, made once: a minute and more.
pub fn base(release: &str, directory: &Path, tools: &Tools) -> Result<PathBuf> {
    let (base, part) = (directory.join(format!("{release}.base")), directory.join(format!("{release}.part")));
    if base.exists() {
        return Ok(base);
    }
    if part.exists() {
        remove(&part)?;
    }
    fs::create_dir_all(&part).with_context(|| format!("cannot make {}", part.display()))?;
    let mut debootstrap = tools.command("debootstrap")?;
    debootstrap.args(["--variant=minbase", INCLUDED, release]).arg(&part);
    process::run_quietly(&mut debootstrap)
        .with_context(|| format!("cannot make a fresh Debian {release}"))?;
    fs::rename(&part, &base).with_context(|| format!("cannot keep {}", base.display()))?;
    Ok(base)
}

/// It is another one each time that it boots.
struct Machine {
    nspawn: Child,
    /// Its first process, by our number.
    first: String,
}

impl Booted {
    /// Boots a copy, with an eth0 that leads to its neighbour.
    pub fn boot(base: &Path, root: PathBuf, tools: &Tools) -> Result<Self> {
        if root.exists() {
            remove(&root)?;
        }
        process::run_quietly(Command::new("cp").args(["--archive", "--"]).arg(base).arg(&root))?;
        let wire = Wire::lay(tools.file("nft")?)?;
        let program = tools.file("systemd-nspawn")?;
        let machine = RefCell::new(Machine::switch_on(&program, &root, &wire)?);
        let booted = Self { root, machine, wire, program };
        booted.has_come_up()?;
        booted.perform("ip link set eth0 up")?;
        Ok(booted)
    }

    /// Nothing is stopped, and nothing of the kernel's stays but the wire, whose end is down.
    pub fn lose_power(&self) -> Result<()> {
        self.machine.borrow_mut().switch_off()?;
        self.wire.unplug()
    }

    /// With what is on its disk.
    pub fn boot_again(&self) -> Result<()> {
        let machine = Machine::switch_on(&self.program, &self.root, &self.wire)?;
        self.machine.replace(machine);
        self.has_come_up()
    }

    fn has_come_up(&self) -> Result<()> {
        until(|| {
            let told = self.output("systemctl is-system-running").ok()?;
            ["running", "degraded"].contains(&stdout(&told).trim()).then_some(())
        })
        .context("it does not come up")
    }

    /// The namespace of its neighbour.
    pub fn neighbour(&self) -> &str {
        &self.wire.neighbour
    }

    /// How many packets from there came through behind the filter since it was connected.
    pub fn passed(&self, source: &str) -> Result<u64> {
        let told = process::output(&mut self.wire.nft("list table netdev seen"))?;
        let line = told.lines().find(|line| line.contains(&format!("{source} ")));
        let mut words = line.unwrap_or_default().split_whitespace().skip_while(|word| *word != "packets");
        words.nth(1).and_then(|number| number.parse().ok()).context("nft does not tell how many passed")
    }

    /// Does a line of shell as its root, with nobody there to answer.
    pub fn output(&self, line: &str) -> Result<Output> {
        let mut enter = Command::new("nsenter");
        enter.args([
            "--target",
            &self.machine.borrow().first,
            "--mount",
            "--uts",
            "--ipc",
            "--net",
            "--pid",
            "--cgroup",
        ]);
        enter.args([
            "env",
            "-i",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME=/root",
            "LANG=C.UTF-8",
            "sh",
            "-ec",
        ]);
        enter.arg(line).stdin(Stdio::null()).output().context("cannot start nsenter")
    }

    /// What it says on both, if it succeeds.
    pub fn perform(&self, line: &str) -> Result<String> {
        let output = self.output(line)?;
        let said = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`{line}` failed ({}): {}", output.status, said.trim());
        Ok(said)
    }

    /// One echo request from there: does an answer come?
    pub fn answers(&self, from: &str) -> Result<bool> {
        let mut ping = Command::new("nsenter");
        ping.arg(format!("--net=/run/netns/{}", self.wire.neighbour)).arg("chroot").arg(&self.root);
        ping.args(["ping", "-n", "-c", "1", "-W", "1", "-I", from, ITS_ADDRESS]);
        let told = ping.output().context("cannot start ping")?;
        ensure!(stdout(&told).contains("1 packets transmitted"), "ping did not ask: {told:?}");
        Ok(told.status.success())
    }

    /// Waits until a line of shell says this.
    pub fn becomes(&self, line: &str, expected: &str) -> Result<()> {
        let said = || Some(stdout(&self.output(line).ok()?).trim().to_owned());
        until(|| said().filter(|said| said == expected).map(drop))
            .with_context(|| format!("`{line}` says {:?} and not {expected:?}", said().unwrap_or_default()))
    }
}

impl Machine {
    /// Starts nspawn, with a file system for pins that ends with it.
    fn switch_on(program: &Path, root: &Path, wire: &Wire) -> Result<Self> {
        let pins = root.with_extension("bpf");
        fs::create_dir_all(&pins).with_context(|| format!("cannot make {}", pins.display()))?;
        let mut nspawn = Command::new("unshare");
        nspawn.args(["--mount", "--propagation", "private", "sh", "-ec"]);
        nspawn.arg("mount -t bpf bpf \"$1\"; shift; exec \"$@\"").arg("sh").arg(&pins);
        nspawn.arg(program);
        nspawn.args(["--quiet", "--register=no", "--keep-unit", "--capability=all", CALLS]);
        nspawn.arg(format!("--network-namespace-path=/run/netns/{}", wire.own));
        nspawn.arg(format!("--bind={}:/sys/fs/bpf", pins.display())).arg("--console=pipe").arg("--boot");
        nspawn.arg("--directory").arg(root).env("SYSTEMD_NSPAWN_API_VFS_WRITABLE", "yes");
        let log = fs::File::create(root.with_extension("log")).context("cannot keep what it says")?;
        let both = log.try_clone().context("cannot keep what it says")?;
        nspawn.stdin(Stdio::null()).stdout(log).stderr(both);
        let nspawn = nspawn.spawn().context("cannot start systemd-nspawn")?;
        let mut machine = Self { nspawn, first: String::new() };
        machine.first = until(|| machine.first_process()).context("it does not boot")?;
        Ok(machine)
    }

    /// What nspawn started.
    fn first_process(&self) -> Option<String> {
        let pid = self.nspawn.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let child = children.split_whitespace().next()?.to_owned();
        // Before it has become the system's first, it is nspawn's own.
        (fs::read_to_string(format!("/proc/{child}/comm")).ok()?.trim() == "systemd").then_some(child)
    }

    /// With its first process all others go, which they do not with nspawn. Nobody may have waited for it: then it is there
    /// still, but in no namespace.
    fn switch_off(&mut self) -> Result<()> {
        _ = self.nspawn.kill();
        self.nspawn.wait().context("nspawn cannot be waited for")?;
        // Once only: later the number may be another's.
        let first = mem::take(&mut self.first);
        let Ok(number) = first.parse() else { return Ok(()) };
        _ = kill(Pid::from_raw(number), Signal::SIGKILL);
        let network = Path::new("/proc").join(first).join("ns/net");
        until(|| fs::read_link(&network).is_err().then_some(())).context("it does not go off")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        _ = self.switch_off();
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Asks again and again.
pub fn until<T>(mut ask: impl FnMut() -> Option<T>) -> Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        if begun.elapsed() > PATIENCE {
            bail!("not within {} s", PATIENCE.as_secs());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Never where something is mounted: that would be removed with it. nspawn's mounts end with it.
fn remove(directory: &Path) -> Result<()> {
    let mounts = fs::read_to_string("/proc/self/mounts").context("cannot tell what is mounted")?;
    let here = directory.to_string_lossy();
    let is_there =
        mounts.lines().any(|line| line.split(' ').nth(1).is_some_and(|place| place.starts_with(&*here)));
    ensure!(!is_there, "something is mounted in {here}");
    fs::remove_dir_all(directory).with_context(|| format!("cannot remove {here}"))
}
