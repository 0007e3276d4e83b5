//! One guest: booted, listened to, and ended when it says that it is done, when it dies, or when its time is over.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use xtask::process;

use super::accelerator::Accelerator;
use super::guest::Line;
use super::kernel::Kernel;
use super::log;
use super::results::Boot;

/// Enough for a million addresses, the tables they grow through, and the initrd.
const MEMORY: &str = "2048";

/// The kernel speaks on its first serial line, and whatever shakes it ends it. The tests speak on the second.
const COMMAND_LINE: &str = "console=ttyS0 oops=panic panic=-1 softlockup_panic=1 hung_task_panic=1";

/// A kernel with an initrd, ready to boot.
pub struct Machine<'a> {
    pub kernel: &'a Kernel,
    pub initrd: PathBuf,
    pub accelerator: Accelerator,
    /// Where what the kernel says is kept.
    pub log: PathBuf,
}

impl Machine<'_> {
    /// Boots it, prints what its tests print, and tells how it went.
    pub fn run(&self, limit: Duration) -> Result<Boot> {
        fs::write(&self.log, "").with_context(|| format!("cannot write {}", self.log.display()))?;
        let mut qemu = self.qemu(&["-serial", "stdio"]);
        let mut qemu =
            qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start QEMU")?;
        let lines = lines_of(&mut qemu)?;
        let mut boot = Boot::new(&self.kernel.series);
        listen(&lines, Instant::now() + limit, &mut boot);
        let _ = qemu.kill();
        qemu.wait().context("cannot wait for QEMU")?;
        self.look_into_log(&mut boot)?;
        Ok(boot)
    }

    /// Gives a prompt in it.
    pub fn shell(&self) -> Result<ExitCode> {
        println!(
            "Linux {}: Ctrl-A X ends it; the kernel's own words go to {}",
            self.kernel.release,
            self.log.display()
        );
        process::run(&mut self.qemu(&["-serial", "mon:stdio"]))?;
        Ok(ExitCode::SUCCESS)
    }

    fn qemu(&self, console: &[&str]) -> Command {
        let mut qemu = qemu(self.kernel, self.accelerator, &self.log);
        qemu.args(console).arg("-initrd").arg(&self.initrd);
        qemu
    }

    fn look_into_log(&self, boot: &mut Boot) -> Result<()> {
        let bytes = fs::read(&self.log).with_context(|| format!("cannot read {}", self.log.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        log::troubles(&text).for_each(|line| boot.complain(format!("the kernel: {line}")));
        if !boot.is_good() {
            println!(
                "-- the kernel's last words (all of them: {}):\n{}",
                self.log.display(),
                log::tail(&text)
            );
        }
        Ok(())
    }
}

/// QEMU with this kernel, which writes its log to a file.
pub fn qemu(kernel: &Kernel, accelerator: Accelerator, log: &Path) -> Command {
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args([
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-M",
        "q35",
        "-m",
        MEMORY,
    ]);
    qemu.args(accelerator.arguments()).arg("-kernel").arg(kernel.image()).args(["-append", COMMAND_LINE]);
    qemu.arg("-serial").arg(format!("file:{}", log.display()));
    qemu
}

/// Prints the guest's lines as they come, and notes what they tell.
fn listen(lines: &Receiver<String>, end: Instant, boot: &mut Boot) {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => {
                let line = Line::read(&line);
                boot.hear(&line);
                if line == Line::Done {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => return boot.complain("it hangs: its time is over".to_owned()),
            Err(RecvTimeoutError::Disconnected) => {
                return boot.complain("it died before it was done".to_owned());
            }
        }
    }
}

/// The lines of its second serial line, read aside so that waiting for them can end.
fn lines_of(qemu: &mut Child) -> Result<Receiver<String>> {
    let output = qemu.stdout.take().context("QEMU has no output")?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
        let _ = lines
            .map(|line| String::from_utf8_lossy(&line).into_owned())
            .try_for_each(|line| sender.send(line));
    });
    Ok(receiver)
}
