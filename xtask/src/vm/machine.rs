//! One guest: booted, listened to, and ended when it says that it is done, when it dies, or when its time is over.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
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
use crate::test::Progress;

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

/// How long a guest may run, and how long it may say nothing. A test that takes longer hangs.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub whole: Duration,
    pub silence: Duration,
}

/// How the tests in a guest ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// All of them did, or it is noted why they did not. These passed, by stage.
    Over { passed: Vec<(String, Vec<String>)> },
    /// In this stage, after these tests, no test ended for too long.
    Hung { stage: String, ended: Vec<String> },
}

impl Machine<'_> {
    /// Boots it, and notes what its tests print.
    pub fn run(&self, limits: Limits, report: &mut Report, progress: &Progress) -> Result<Ending> {
        fs::write(&self.log, "").with_context(|| format!("cannot write {}", self.log.display()))?;
        let mut qemu = ahead_of_tests(&self.qemu(false));
        let mut qemu =
            qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start QEMU")?;
        let lines = lines_of(&mut qemu)?;
        let place = &self.kernel.series;
        let mut listener = Listener {
            place,
            report,
            progress,
            transcript: self.transcript()?,
            stage: String::new(),
            ended: Vec::new(),
            passed: Vec::new(),
        };
        let ending = listener.listen(&lines, limits)?;
        let _ = qemu.kill();
        qemu.wait().context("cannot wait for QEMU")?;
        progress.end(place);
        look_into(&self.log, !report.is_good(), report)?;
        Ok(ending)
    }

    /// Everything that its tests print goes into this file, beside the kernel's log.
    fn transcript(&self) -> Result<File> {
        let path = self.log.with_extension("tests");
        File::create(&path).with_context(|| format!("cannot write {}", path.display()))
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

/// Runs QEMU ahead of the tests beside it. The kernel shares processors among sessions, each test is one, and a guest takes longer
/// than all of them. It ends with its parent, for it is in a session of its own.
fn ahead_of_tests(qemu: &Command) -> Command {
    const FIRST: &str = "echo -10 2>/dev/null >/proc/self/autogroup; exec \"$@\"";
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "setsid", "sh", "-c", FIRST, "sh"]);
    command.arg(qemu.get_program()).args(qemu.get_args());
    command
}

/// Notes the guest's lines as they come.
struct Listener<'a> {
    place: &'a str,
    report: &'a mut Report,
    progress: &'a Progress,
    transcript: File,
    stage: String,
    ended: Vec<String>,
    passed: Vec<(String, Vec<String>)>,
}

impl Listener<'_> {
    fn listen(&mut self, lines: &Receiver<String>, limits: Limits) -> Result<Ending> {
        let end = Instant::now() + limits.whole;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match lines.recv_timeout(left.min(limits.silence)) {
                Ok(line) => {
                    writeln!(self.transcript, "{line}").context("cannot write what a guest prints")?;
                    let line = Line::read(&line);
                    self.note(&line);
                    if line == Line::Done {
                        return Ok(self.over());
                    }
                }
                Err(RecvTimeoutError::Timeout) if left > limits.silence => {
                    return Ok(Ending::Hung { stage: self.stage.clone(), ended: self.ended.clone() });
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.report.complain("it hangs: its time is over".to_owned());
                    return Ok(self.over());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.report.complain("it died before it was done".to_owned());
                    return Ok(self.over());
                }
            }
        }
    }

    fn over(&mut self) -> Ending {
        Ending::Over { passed: std::mem::take(&mut self.passed) }
    }

    fn note(&mut self, line: &Line<'_>) {
        line.note(self.report);
        if *line == Line::End(true) && self.report.has_passed_whole() {
            self.passed.push((self.stage.clone(), self.ended.clone()));
        }
        if let Line::Begin(stage) = line {
            self.progress.begin(self.place, stage, 0);
            self.stage = (*stage).to_owned();
            self.ended.clear();
        }
        if let Some((name, has_failed)) = line.ended() {
            self.progress.advance(self.place, has_failed);
            self.ended.push(name.to_owned());
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
