//! One guest: booted, listened to, and ended when it says that it is done, when it dies, or when its time is over.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bpf_build::process;

use super::accelerator::Accelerator;
use super::guest::Line;
use super::kernel::Kernel;
use super::log;
use crate::results::Report;

/// Enough for a million addresses, the tables they grow through, and the initrd.
const MEMORY: &str = "2048";

/// The kernel speaks on its first serial line, and whatever shakes it ends it. The tests speak on the second.
/// Beside other work an emulated timer may be too late for the kernel that tests it: then it would end ("timer does not work").
const COMMAND_LINE: &str = "oops=panic panic=-1 softlockup_panic=1 hung_task_panic=1 no_timer_check";

/// A kernel with an initrd, ready to report.
pub struct Machine<'a> {
    /// What runs it.
    pub qemu: PathBuf,
    pub kernel: &'a Kernel,
    pub initrd: PathBuf,
    pub accelerator: Accelerator,
    /// Where what the kernel says is kept.
    pub log: PathBuf,
}

impl Machine<'_> {
    /// Boots it, prints what its tests print, and notes how it went.
    pub fn run(&self, limit: Duration, report: &mut Report) -> Result<()> {
        fs::write(&self.log, "").with_context(|| format!("cannot write {}", self.log.display()))?;
        let mut qemu = self.qemu(false);
        let mut qemu =
            qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start QEMU")?;
        let lines = lines_of(&mut qemu)?;
        listen(&lines, Instant::now() + limit, report);
        let _ = qemu.kill();
        qemu.wait().context("cannot wait for QEMU")?;
        look_into(&self.log, !report.is_good(), report)
    }

    /// Gives a prompt in it.
    pub fn shell(&self) -> Result<ExitCode> {
        println!(
            "Linux {}: Ctrl-A X ends it; the kernel's own words go to {}",
            self.kernel.release,
            self.log.display()
        );
        process::run(&mut self.qemu(true))?;
        Ok(ExitCode::SUCCESS)
    }

    /// QEMU with both serial lines.
    fn qemu(&self, with_prompt: bool) -> Command {
        let mut qemu = self.bare();
        qemu.arg("-serial").arg(format!("file:{}", self.log.display()));
        qemu.args(self.kernel.board().second_line(with_prompt));
        qemu
    }

    /// QEMU without a serial line, a card or a disk.
    pub fn bare(&self) -> Command {
        let mut qemu = qemu(&self.qemu, self.kernel, self.accelerator);
        qemu.arg("-initrd").arg(&self.initrd);
        qemu
    }
}

/// Complains of what a kernel minds, and shows its last words if anything has gone wrong.
pub fn look_into(log: &Path, went_wrong: bool, report: &mut Report) -> Result<()> {
    let bytes = fs::read(log).with_context(|| format!("cannot read {}", log.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let troubles: Vec<_> = log::troubles(&text).collect();
    if went_wrong || !troubles.is_empty() {
        println!("-- the kernel's last words (all of them: {}):\n{}", log.display(), log::tail(&text));
    }
    troubles.into_iter().for_each(|line| report.complain(format!("the kernel: {line}")));
    Ok(())
}

/// QEMU with this kernel.
pub fn qemu(program: &Path, kernel: &Kernel, accelerator: Accelerator) -> Command {
    let board = kernel.board();
    let mut qemu = Command::new(program);
    qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    qemu.args(["-M", board.machine, "-m", MEMORY]).args(accelerator.arguments(board));
    qemu.arg("-kernel").arg(kernel.image());
    qemu.arg("-append").arg(format!("console={} {COMMAND_LINE}", board.console));
    qemu
}

/// Prints the guest's lines as they come, and notes what they tell.
fn listen(lines: &Receiver<String>, end: Instant, report: &mut Report) {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => {
                let line = Line::read(&line);
                line.tell(report);
                if line == Line::Done {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                return report.complain("it hangs: its time is over".to_owned());
            }
            Err(RecvTimeoutError::Disconnected) => {
                return report.complain("it died before it was done".to_owned());
            }
        }
    }
}

/// The lines that it prints, read aside so that waiting for them can end.
pub fn lines_of(child: &mut Child) -> Result<Receiver<String>> {
    let output = child.stdout.take().context("it has no output")?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
        let _ = lines
            .map(|line| String::from_utf8_lossy(&line).into_owned())
            .try_for_each(|line| sender.send(line));
    });
    Ok(receiver)
}
