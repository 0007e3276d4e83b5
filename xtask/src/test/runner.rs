//! Runs tests, each in a supervised process of its own, several at a time, and notes in a report how each ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use super::chosen::Chosen;
use super::failure::Failure;
use super::layer::SLOW;
use super::progress::Progress;
use super::supervise;
use super::surroundings;
use super::times::Times;
use crate::results::Report;
use crate::side_by_side;

/// What a test begins the line with that tells why it did not run.
const SKIPPED: &str = "SKIPPED ";

/// A test program, and how to run the tests in it.
#[derive(Debug, Clone)]
pub struct Program {
    pub file: PathBuf,
    /// Its package, in which it runs, as under `cargo test`.
    pub directory: PathBuf,
    /// What it finds in its environment beside the known surroundings.
    pub variables: Vec<(String, std::ffi::OsString)>,
}

/// How many tests at a time, and how long each may take.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub jobs: usize,
    pub limit: Duration,
}

/// A test in a program.
#[derive(Debug, Clone)]
struct Case<'a> {
    program: &'a Program,
    name: String,
    is_ignored: bool,
}

/// How a test ended.
enum Ended {
    Passed,
    Skipped(String),
    Failed(Failure),
}

/// The tests of a layer.
pub struct Tests<'a> {
    /// The kernel that they are about, if it is not this machine's.
    pub place: &'a str,
    pub layer: &'a str,
    pub programs: &'a [Program],
    /// Which tests of the programs are meant.
    pub belongs: &'a (dyn Fn(&str) -> bool + Sync),
    /// Are those that libtest ignores meant, too?
    pub with_ignored: bool,
    pub pace: Pace,
}

impl Tests<'_> {
    /// Runs those that are chosen. Returns the names of those that passed.
    pub fn run(&self, chosen: &Chosen, report: &mut Report, progress: &Progress) -> Result<Vec<String>> {
        let mut cases = Vec::new();
        for program in self.programs {
            cases.extend(cases_of(program)?);
        }
        cases.retain(|case| (self.belongs)(&case.name) && chosen.holds(self.layer, &case.name));
        if cases.is_empty() {
            return Ok(Vec::new());
        }
        report.begin(self.layer);
        let times = Times::read()?;
        cases.sort_by_key(|case| std::cmp::Reverse(times.of(self.layer, &case.name)));
        let logs = logs(&[self.place, self.layer].concat())?;
        progress.begin(self.place, self.layer, cases.len());
        let noted = Mutex::new((report, times, Vec::new()));
        let tasks = cases.iter().map(|case| {
            || {
                let begun = Instant::now();
                let ended = if case.is_ignored && !self.with_ignored {
                    None
                } else {
                    Some(self.run_one(case, &logs))
                };
                let mut noted = noted.lock().expect("noting how a test ended does not panic");
                let (report, times, passed) = &mut *noted;
                let has_failed = matches!(ended, Some(Ended::Failed(_)));
                match ended {
                    None => report.ignore(),
                    Some(Ended::Passed) => {
                        report.pass();
                        passed.push(case.name.clone());
                    }
                    Some(Ended::Skipped(reason)) => report.skip(&reason),
                    Some(Ended::Failed(failure)) => {
                        progress.print(&format!("{}: {failure}", self.layer));
                        report.fail_test(&failure);
                    }
                }
                times.note(self.layer, &case.name, begun.elapsed());
                progress.advance(self.place, has_failed);
            }
        });
        side_by_side::all(self.pace.jobs, tasks.collect());
        let (report, times, passed) = noted.into_inner().expect("noting how a test ended does not panic");
        report.finish();
        times.write()?;
        Ok(passed)
    }

    fn run_one(&self, case: &Case<'_>, logs: &Path) -> Ended {
        let log = logs.join(format!("{}.log", case.name.replace("::", ".")));
        let own = SLOW.iter().find(|(name, _)| *name == case.name).map(|(_, limit)| *limit);
        let limit = own.unwrap_or(self.pace.limit);
        let status = supervised(case, limit, &log).and_then(|mut command| Ok(command.status()?));
        let said = fs::read(&log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        match status {
            Err(error) => Ended::Failed(Failure::new(&case.name, &format!("cannot run it: {error:#}"))),
            Ok(status) => match supervise::failure(status, limit) {
                Some(end) => Ended::Failed(Failure::with_log(&case.name, &end, &said, &log)),
                None => {
                    let _ = fs::remove_file(&log);
                    skipped(&said).map_or(Ended::Passed, Ended::Skipped)
                }
            },
        }
    }
}

/// The supervisor of one test.
fn supervised(case: &Case<'_>, limit: Duration, log: &Path) -> Result<Command> {
    let _ = fs::remove_file(log);
    // This very program, also where cargo has put another one in its place meanwhile.
    let mut command = Command::new(format!("/proc/{}/exe", std::process::id()));
    command.arg("supervise").arg(format!("--limit={}", limit.as_secs())).arg("--log").arg(log);
    // With two threads libtest runs the test in one that is named after it.
    command.arg(&case.program.file).args([
        "--exact",
        &case.name,
        "--nocapture",
        "--test-threads=2",
        "--include-ignored",
    ]);
    command.envs(case.program.variables.iter().map(|(name, value)| (name, value)));
    command.env("CARGO_MANIFEST_DIR", &case.program.directory);
    surroundings::set(&mut command);
    command.current_dir(&case.program.directory).stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

/// Why a test that passed did not really run. What it says may follow libtest's own words on the same line.
fn skipped(said: &str) -> Option<String> {
    let line = said.lines().find_map(|line| line.find(SKIPPED).map(|at| &line[at..]))?;
    Some(line.to_owned())
}

/// The tests in a program.
fn cases_of(program: &Program) -> Result<Vec<Case<'_>>> {
    let list = |words: &[&str]| {
        let mut command = Command::new(&program.file);
        command.args(["--list", "--format", "terse"]).args(words);
        command.envs(program.variables.iter().map(|(name, value)| (name, value)));
        surroundings::set(&mut command);
        let told = process::output(command.current_dir(&program.directory).stdin(Stdio::null()))?;
        anyhow::Ok(
            told.lines().filter_map(|line| Some(line.strip_suffix(": test")?.to_owned())).collect::<Vec<_>>(),
        )
    };
    let ignored = list(&["--ignored"])?;
    let case = |name: String| Case { program, is_ignored: ignored.contains(&name), name };
    Ok(list(&[])?.into_iter().map(case).collect())
}

/// A directory for what the tests of a layer say. Logs stay there until the same test passes.
fn logs(layer: &str) -> Result<PathBuf> {
    let logs = workspace::target()?.join("tests").join(layer.replace(' ', "-"));
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_skips_itself_says_why() {
        assert_eq!(
            skipped("running 1 test\nSKIPPED vlan: no such thing\ntest x ... ok\n").as_deref(),
            Some("SKIPPED vlan: no such thing")
        );
        assert_eq!(skipped("test x ... SKIPPED here\n").as_deref(), Some("SKIPPED here"));
        assert_eq!(skipped("test x ... ok\n"), None);
    }
}
