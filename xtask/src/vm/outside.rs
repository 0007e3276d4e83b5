//! The ring whose stories stand outside: they boot guests themselves, and look at them over their cards.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::machine::{self, Machine};
use super::programs::Program;
use crate::results::Report;
use crate::tools::Tools;

/// What the guests do: what they are told.
pub const PLAN: &str = "console\n";

/// The variable that names a disk to stories that want one.
const DEBIAN: &str = "FILTERD_DEBIAN";

/// Runs `stories` on this machine, as a stage of what happens on the kernel of `machine`: those that are chosen, with this disk.
pub fn run(
    stories: &Program,
    (filter, disk): (&[OsString], Option<&Path>),
    machine: &Machine<'_>,
    tools: &Tools,
    limit: Duration,
    report: &mut Report,
) -> Result<()> {
    let logs = machine.log.with_extension("logs");
    let cleared = if logs.exists() { fs::remove_dir_all(&logs) } else { Ok(()) };
    cleared.and_then(|()| fs::create_dir_all(&logs)).context("cannot make a place for logs")?;
    report.begin(&stories.name);
    let mut command = command(stories, machine, &logs);
    command.envs(disk.map(|disk| (DEBIAN, disk)));
    let succeeded = tell(tools.equip(&mut command).args(filter), limit, report)?;
    report.end(succeeded);
    // A story that fails shows the log of its own guest.
    logs_in(&logs)?.iter().try_for_each(|log| machine::look_into(log, false, report))
}

/// One story at a time: each has a machine or two of its own.
fn command(stories: &Program, machine: &Machine<'_>, logs: &Path) -> Command {
    let qemu = machine.bare();
    let words = [qemu.get_program()].into_iter().chain(qemu.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let mut command = Command::new(&stories.file);
    command.args(["--test-threads=1", "--show-output"]);
    command.env("FILTERD_QEMU", words.join("\n")).env("FILTERD_QEMU_LOGS", logs);
    command
}

/// Notes what the stories print, until they end or their time is over; tells whether they were content.
fn tell(stories: &mut Command, limit: Duration, report: &mut Report) -> Result<bool> {
    let mut stories =
        stories.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start the stories")?;
    let lines = machine::lines_of(&mut stories)?;
    let end = Instant::now() + limit;
    while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
        report.read(&line);
    }
    if Instant::now() >= end {
        report.complain("the stories hang: their time is over".to_owned());
        let _ = stories.kill();
    }
    Ok(stories.wait().context("cannot wait for the stories")?.success())
}

fn logs_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).context("cannot list the guests' logs")?;
    let files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    Ok(files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "log"))
        .collect())
}
