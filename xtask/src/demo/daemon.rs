//! The demo's filterd: started, spoken to, and ended when dropped.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bpf_build::process;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::namespace::Namespace;
use super::places::Places;

/// Starting and stopping take milliseconds; this is for machines under load.
const PATIENCE: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(10);

/// A running one.
pub struct Daemon<'demo> {
    program: &'demo Path,
    places: &'demo Places,
    child: Child,
}

impl<'demo> Daemon<'demo> {
    /// Starts it on the namespace's eth0 and waits until it answers.
    pub fn start(
        program: &'demo Path,
        host: &Namespace,
        places: &'demo Places,
        interrupted: &AtomicBool,
    ) -> Result<Self> {
        let log = File::create(places.log()).context("cannot write the log of filterd")?;
        let also = log.try_clone().context("cannot share the log of filterd")?;
        let mut command = host.command(program);
        command
            .args(["--iface", "eth0", "--config"])
            .arg(places.config())
            .arg("--socket")
            .arg(places.socket());
        command.arg("--state-dir").arg(places.state()).arg("--pin-dir").arg(places.pins());
        let child = command.stdin(Stdio::null()).stdout(log).stderr(also).spawn();
        let mut daemon = Self { program, places, child: child.context("cannot start filterd")? };
        daemon.wait_until_it_answers(interrupted)?;
        daemon.show_log();
        Ok(daemon)
    }

    /// Runs a verb as one would type it, and shows what it prints.
    pub fn succeeds(&self, words: &[&str]) -> Result<()> {
        println!("   $ filterd {}", words.join(" "));
        let said = process::output(self.verb().args(words))?;
        said.lines().for_each(|line| println!("   {line}"));
        Ok(())
    }

    fn verb(&self) -> Command {
        let mut command = Command::new(self.program);
        command.env("FILTERD_SOCKET", self.places.socket());
        command
    }

    fn wait_until_it_answers(&mut self, interrupted: &AtomicBool) -> Result<()> {
        let begun = Instant::now();
        while process::run_quietly(self.verb().arg("ping")).is_err() {
            ensure!(!interrupted.load(Ordering::Relaxed), "it was interrupted");
            if let Some(status) = self.child.try_wait().context("cannot wait for filterd")? {
                bail!("filterd ended ({status}); its log:\n{}", self.log());
            }
            ensure!(begun.elapsed() < PATIENCE, "filterd does not answer; its log:\n{}", self.log());
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn show_log(&self) {
        self.log().lines().for_each(|line| println!("   {line}"));
    }

    fn log(&self) -> String {
        fs::read_to_string(self.places.log()).unwrap_or_default()
    }

    /// Asks it to end, and waits for that. False where it does not.
    fn end(&mut self) -> bool {
        let begun = Instant::now();
        let asked =
            i32::try_from(self.child.id()).is_ok_and(|id| kill(Pid::from_raw(id), Signal::SIGTERM).is_ok());
        while asked && begun.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            thread::sleep(PAUSE);
        }
        false
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if !self.end() {
            eprintln!("xtask: filterd does not end when asked: killing it");
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
