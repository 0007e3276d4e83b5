//! Runs one program on behalf of the runner: under known conditions, with its output in a file, for a limited time.
//!
//! Each test has a supervisor, which is a process of its own. Whatever the test starts becomes a descendant of it, daemons
//! included. When the test ends or its time is over, the supervisor kills all descendants. If xtask dies, it does so too.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{Mode, umask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getppid, setsid};

/// The exit code of a program that was killed because its time was over.
pub const TIMED_OUT: i32 = 124;

/// The exit code where the program could not be started.
const NOT_STARTED: u8 = 125;

/// What `env` of coreutils calls the reset of all signals that the caller ignores, as under `nohup` and in background jobs.
const RESET_SIGNALS: [&str; 2] = ["env", "--default-signal"];

/// How long the kernel may take to end a process that was killed.
const KILLING: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub struct Supervise {
    /// Seconds after which the program is killed
    #[arg(long)]
    limit: u64,
    /// The file to write its output to
    #[arg(long)]
    log: PathBuf,
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Supervise {
    pub fn run(&self) -> ExitCode {
        let code = self.supervise().unwrap_or_else(|error| {
            let _ = append(&self.log, &format!("cannot run {}: {error:#}\n", self.words.join(" ")));
            NOT_STARTED
        });
        ExitCode::from(code)
    }

    fn supervise(&self) -> Result<u8> {
        let xtask = getppid();
        umask(Mode::from_bits_truncate(0o022));
        // Ctrl-C on the terminal reaches xtask only. A caller that leads a group already keeps its session.
        let _ = setsid();
        prctl::set_child_subreaper(true).context("cannot adopt orphans")?;
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = if resets_signals() {
            let mut command = Command::new(RESET_SIGNALS[0]);
            command.arg(RESET_SIGNALS[1]).arg(&self.words[0]);
            command
        } else {
            Command::new(&self.words[0])
        };
        command.args(&self.words[1..]).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn()?;
        let child = Pid::from_raw(i32::try_from(child.id()).context("process ids are small")?);
        let end = Instant::now() + Duration::from_secs(self.limit);
        let code = loop {
            if let Some(code) = reap(child) {
                break code;
            }
            if getppid() != xtask {
                break 1;
            }
            if Instant::now() >= end {
                append(&self.log, &self.last_words())?;
                break u8::try_from(TIMED_OUT).context("exit codes are small")?;
            }
            thread::sleep(Duration::from_millis(2));
        };
        kill_descendants();
        Ok(code)
    }

    /// What is known of a test that hangs: the processes that it consists of, and where the kernel has them wait.
    fn last_words(&self) -> String {
        let mut words = format!("\nTIMED OUT after {} s, and killed. Its processes:\n", self.limit);
        for pid in descendants() {
            let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let line = read("cmdline").replace('\0', " ");
            let _ = writeln!(words, "  {pid} {}", line.trim());
            for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
                let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
                let (name, waits) = (read("comm"), read("wchan"));
                let _ = writeln!(words, "    thread {} waits in {}", name.trim(), waits.trim());
            }
        }
        words
    }
}

/// Is `env` one that can reset signals? Busybox has another one, in guests, where nothing is ignored.
fn resets_signals() -> bool {
    let [env, reset] = RESET_SIGNALS;
    let tried = Command::new(env).args([reset, "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Takes note of all children that have ended, adopted ones included. The exit code of `child` if it is among them.
fn reap(child: Pid) -> Option<u8> {
    let mut code = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, exit)) if pid == child => code = u8::try_from(exit).ok().or(Some(1)),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                let number = u8::try_from(signal as i32).unwrap_or_default();
                code = Some(128 + number);
            }
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return code,
            Err(Errno::EINTR) | Ok(_) => {}
            Err(_) => return code.or(Some(1)),
        }
    }
}

fn kill_descendants() {
    let end = Instant::now() + KILLING;
    while waitpid(None, Some(WaitPidFlag::WNOHANG)) != Err(Errno::ECHILD) && Instant::now() < end {
        for pid in descendants() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The processes below this one.
fn descendants() -> Vec<i32> {
    let parents: Vec<(i32, i32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| Some((pid, parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)))
        .collect();
    let mut below = vec![getpid().as_raw()];
    let mut next = 0;
    while next < below.len() {
        let above = below[next];
        below.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        next += 1;
    }
    below.split_off(1)
}

/// The parent in /proc/PID/stat. The name before it may hold anything, brackets included.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn append(log: &Path, words: &str) -> Result<()> {
    let mut file = File::options().create(true).append(true).open(log)?;
    file.write_all(words.as_bytes()).context("cannot write the log of a test")
}

/// How a supervised program ended, in words, unless it succeeded.
pub fn failure(status: std::process::ExitStatus, limit: Duration) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(TIMED_OUT), _) => Some(format!("timed out after {} s", limit.as_secs())),
        (Some(code), _) if code > 128 => Some(format!("was ended by signal {}", code - 128)),
        (Some(code), _) => Some(format!("exited with {code}")),
        (None, signal) => Some(format!("its supervisor was ended by signal {}", signal.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_is_read_whatever_a_process_calls_itself() {
        for name in ["sh", "a b", ") S 7 ("] {
            assert_eq!(parent(&format!("12 ({name}) S 34 12 12 0")), Some(34), "{name}");
        }
        assert_eq!(parent("12 (sh"), None);
    }

    #[test]
    fn exit_codes_are_explained() {
        let limit = Duration::from_secs(120);
        for (raw, words) in [
            (0, None),
            (101 << 8, Some("exited with 101")),
            (TIMED_OUT << 8, Some("timed out after 120 s")),
            ((128 + 11) << 8, Some("was ended by signal 11")),
            (9, Some("its supervisor was ended by signal 9")),
        ] {
            assert_eq!(failure(ExitStatusExt::from_raw(raw), limit).as_deref(), words);
        }
    }
}
