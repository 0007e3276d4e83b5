//! The layer whose tests stand outside: they boot guests themselves, and look at them over their cards.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::machine::{self, Machine};
use super::programs;
use super::ring::Ring;
use crate::results::Report;
use crate::test::{Chosen, Pace, Program, Progress, Tests};
use crate::tools::Tools;

/// What the guests do: what they are told.
pub const PLAN: &str = "console\n";

/// The variable that names a disk to tests that want one.
const DEBIAN: &str = "FILTERD_DEBIAN";

/// A test boots a machine or two of its own, under emulation.
const LIMIT: Duration = Duration::from_secs(300);

/// With the package a guest becomes a Debian, and lives through its upgrades.
const LIMIT_OF_A_DEBIAN: Duration = Duration::from_secs(1800);

/// What to run.
pub struct Choice<'a> {
    pub names: &'a [String],
    /// A disk with a Debian: then the tests of its package run, and no others.
    pub disk: Option<&'a Path>,
}

/// Runs the tests on this machine, one at a time, as a layer of what happens on the kernel of `machine`.
pub fn run(
    program: &programs::Program,
    choice: &Choice<'_>,
    machine: &Machine<'_>,
    tools: &Tools,
    report: &mut Report,
    progress: &Progress,
) -> Result<()> {
    let logs = machine.log.with_extension("logs");
    let cleared = if logs.exists() { fs::remove_dir_all(&logs) } else { Ok(()) };
    cleared.and_then(|()| fs::create_dir_all(&logs)).context("cannot make a place for logs")?;
    let programs = [guests(program, machine, &logs, choice.disk, tools)?];
    let layer = Ring::Guest.program();
    let limit = if choice.disk.is_some() { LIMIT_OF_A_DEBIAN } else { LIMIT };
    let place = &machine.kernel.series;
    let belongs = |_: &str| true;
    let with_ignored = choice.disk.is_some();
    let tests = Tests {
        place,
        layer,
        programs: &programs,
        belongs: &belongs,
        with_ignored,
        pace: Pace { jobs: 1, limit },
    };
    tests.run(&Chosen::read(choice.names, &[]), report, progress)?;
    // A test that fails shows the log of its own guest.
    logs_in(&logs)?.iter().try_for_each(|log| machine::look_into(log, false, report))
}

/// The test program, told what QEMU is to be started with.
fn guests(
    program: &programs::Program,
    machine: &Machine<'_>,
    logs: &Path,
    disk: Option<&Path>,
    tools: &Tools,
) -> Result<Program> {
    let qemu = machine.bare();
    let words = [qemu.get_program()].into_iter().chain(qemu.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let mut variables: Vec<(String, OsString)> = vec![
        ("PATH".to_owned(), tools.path()),
        ("FILTERD_QEMU".to_owned(), words.join("\n").into()),
        ("FILTERD_QEMU_LOGS".to_owned(), logs.into()),
    ];
    variables.extend(disk.map(|disk| (DEBIAN.to_owned(), disk.into())));
    let directory = program.file.parent().context("a program lies in a directory")?.to_owned();
    Ok(Program { file: program.file.clone(), directory, variables })
}

fn logs_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).context("cannot list the guests' logs")?;
    let files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    Ok(files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "log"))
        .collect())
}
