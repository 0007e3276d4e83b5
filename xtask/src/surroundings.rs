//! `soak surroundings`: the tests pass wherever and however people run them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bpf_build::{process, workspace};

use crate::cost::Cost;
use crate::results::{Report, Results};
use crate::test;
use crate::told::Told;

/// What is run in each: everything in full. In short, tests that depend on signals, terminals, locales and files.
const WHOLE: &str = "cargo xtask test";
const SHORT: &str =
    "cargo xtask test wording network words stop log:: completions top:: own_user durable::what";

/// How long a run may take.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// Stands for the command in the lines of `sh` below.
const RUN: &str = "RUN";

/// Surroundings, and a line of `sh` that runs the tests in them.
struct Surroundings {
    name: &'static str,
    line: &'static str,
    is_short: bool,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// This work tree.
    Here,
    /// A clone of what is committed, in a folder whose name has a space in it.
    CloneWithSpace,
    /// This work tree, while a process keeps each processor busy.
    BesideBusyLoops,
}

const fn here(name: &'static str, line: &'static str) -> Surroundings {
    Surroundings { name, line, is_short: false, place: Place::Here }
}

const fn also_short(name: &'static str, line: &'static str) -> Surroundings {
    Surroundings { is_short: true, ..here(name, line) }
}

const ALL: [Surroundings; 12] = [
    also_short("nohup in the background", "nohup RUN & wait $!"),
    also_short(
        "umask 077, LANG=de_DE.UTF-8, standard input closed",
        "umask 077; export LANG=de_DE.UTF-8; RUN <&-",
    ),
    also_short("SIGINT, SIGQUIT and SIGPIPE ignored", "trap '' INT QUIT PIPE; RUN"),
    here("without a terminal", "setsid --wait RUN"),
    here("standard input closed", "RUN <&-"),
    here("umask 077", "umask 077; RUN"),
    here("LANG=de_DE.UTF-8", "LANG=de_DE.UTF-8 RUN"),
    here("LANG=C", "LANG=C RUN"),
    here("CARGO_TARGET_DIR set", "CARGO_TARGET_DIR=$PWD/target/elsewhere RUN"),
    here(
        "another user's HOME",
        "mkdir -p target/home; CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} HOME=$PWD/target/home RUN",
    ),
    Surroundings {
        place: Place::CloneWithSpace,
        ..here("a clone in a folder with a space in its name", "RUN")
    },
    Surroundings { place: Place::BesideBusyLoops, ..here("beside a busy loop on each processor", "RUN") },
];

/// Runs the tests in all of them, and prints the table.
pub fn run(short: bool) -> Result<ExitCode> {
    let mut report = Report::new("Surroundings".to_owned());
    run_into(&mut report, short, None)?;
    let mut results = Results::default();
    results.add(report);
    Ok(results.tell())
}

/// The same as a stage of a report, with this daemon, if there is one.
pub fn run_into(report: &mut Report, short: bool, daemon: Option<&Path>) -> Result<()> {
    ensure!(process::is_root(), "the tests need root");
    let logs = workspace::target()?.join("surroundings");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    report.begin("surroundings");
    let mut told = Told::begin(report);
    for (number, surroundings) in ALL.iter().filter(|one| !short || one.is_short).enumerate() {
        let log = logs.join(format!("{number}.log"));
        told.tell(surroundings.name, Cost::of(|| surroundings.test(short, daemon, &log)));
    }
    told.end();
    Ok(())
}

impl Surroundings {
    fn test(&self, short: bool, daemon: Option<&Path>, log: &Path) -> Result<()> {
        let busy = if self.place == Place::BesideBusyLoops { busy_loops()? } else { Vec::new() };
        let place = if self.place == Place::CloneWithSpace { clone()? } else { workspace::root() };
        let line = self.line.replace(RUN, if short { SHORT } else { WHOLE });
        let passed = run_in(&place, &line, daemon, log);
        busy.into_iter().for_each(end);
        passed
    }
}

fn run_in(place: &Path, line: &str, daemon: Option<&Path>, log: &Path) -> Result<()> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut run = Command::new("sh");
    run.args(["-c", line]).current_dir(place).stdin(Stdio::null());
    // Else the inner run takes itself for a part of this one.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_")) {
        if !["CARGO_HOME", "CARGO_TARGET_DIR"].iter().any(|kept| name == *kept) {
            run.env_remove(name);
        }
    }
    run.envs(daemon.map(|daemon| (test::DAEMON, daemon)));
    let mut run = run.stdout(file.try_clone()?).stderr(file).spawn().context("cannot start sh")?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = run.try_wait()? {
            break status;
        }
        if begun.elapsed() > LIMIT {
            end(run);
            bail!("it does not end; its log: {}", log.display());
        }
        thread::sleep(Duration::from_millis(100));
    };
    let said = fs::read(log).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let sums = said.lines().rev().find(|line| line.contains(" passed, ")).unwrap_or("no sums");
    let ran = !sums.starts_with("0 passed") && sums.contains(" 0 failed");
    ensure!(status.success() && ran, "{status}, {sums}; its log: {}", log.display());
    Ok(())
}

/// What is committed, and nothing that lies about.
fn clone() -> Result<PathBuf> {
    let place = workspace::target()?.join("with a space");
    let cleared = if place.exists() { fs::remove_dir_all(&place) } else { Ok(()) };
    cleared.with_context(|| format!("cannot remove {}", place.display()))?;
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"]).arg(workspace::root()).arg(&place);
    process::run_quietly(&mut git)?;
    Ok(place)
}

/// One for each processor. They end by themselves, should nobody end them.
fn busy_loops() -> Result<Vec<Child>> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let busy = || {
        let mut busy = Command::new("timeout");
        busy.arg(LIMIT.as_secs().to_string()).args(["sh", "-c", "while :; do :; done"]);
        busy.stdin(Stdio::null()).spawn().context("cannot start a busy loop")
    };
    (0..processors).map(|_| busy()).collect()
}

fn end(mut child: Child) {
    // `timeout` ends what it started when it is asked to end, and not when it is killed.
    let pid = i32::try_from(child.id()).map(nix::unistd::Pid::from_raw);
    let _ = pid.map(|pid| nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM));
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_environment_runs_and_three_are_short() {
        assert!(ALL.iter().all(|one| one.line.contains(RUN)));
        assert_eq!(ALL.iter().filter(|one| one.is_short).count(), 3);
    }
}
