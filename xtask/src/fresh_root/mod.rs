//! `soak fresh-root`: what README tells somebody with a fresh Debian, done word for word in one, from the packages that it
//! names to the last line of the tests. What the system has got by then must be what building needs, and no more.

mod machine;
mod packages;
mod readme;
mod root;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use bpf_build::{process, toolchain, workspace};

use crate::cost::Cost;
use crate::results::{Report, Results};
use crate::told::Told;
use crate::tools::{Tools, asked};
use machine::Machine;
use root::Root;

/// Commands that are done in the place of those that test, with `;` between them.
const TESTS: &str = "FILTERD_TESTS";

/// In short without the tests.
pub fn run(short: bool) -> Result<ExitCode> {
    ensure!(process::is_root(), "a fresh root needs root");
    let machines = machine::chosen()?;
    let tools = Tools::provide(&[asked("debootstrap", "debootstrap", "--version")])?;
    let readme = fs::read_to_string(workspace::root().join("README.md")).context("cannot read README.md")?;
    let tests = if short { Some(String::new()) } else { env::var(TESTS).ok() };
    let commands = readme::with_tests(readme::commands(&readme), tests.as_deref());
    let mut results = Results::default();
    for machine in machines {
        let mut report = Report::new(machine.to_string());
        report.begin("README");
        let told = tell(machine, &commands, &tools, &mut report);
        told.unwrap_or_else(|error| report.complain(format!("{error:#}")));
        results.add(report);
    }
    Ok(results.tell())
}

/// Does what README says, and reports each command as libtest would.
fn tell(machine: &Machine, commands: &[String], tools: &Tools, report: &mut Report) -> Result<()> {
    let root = Root::make(machine, &workspace::target()?.join("fresh").join(machine.name), tools)?;
    bundle(&root.path("source.bundle"))?;
    let (packages, commands): (Vec<_>, Vec<_>) =
        commands.iter().partition(|command| command.starts_with("apt-get"));
    let mut told = Told::begin(report);
    for install in packages {
        told.tell(install, Cost::of(|| root.perform(install)));
    }
    let before = root.packages()?;
    root.perform("git clone --quiet /source.bundle filterd")?;
    for command in commands {
        told.tell(command, Cost::of(|| root.perform(&format!("cd filterd; {command}"))));
    }
    let unneeded = packages::unneeded(&before, &root.packages()?, &root.needed_by(&toolchain::packages())?);
    let kept = unneeded.map_or(Ok(()), |changes| Err(anyhow::Error::msg(changes)));
    told.tell("only what building needs is installed", Cost::of(|| kept));
    if told.end() { root.remove() } else { Ok(()) }
}

/// What is committed, and nothing that lies about.
fn bundle(to: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["bundle", "create", "--quiet"]).arg(to).arg("HEAD").current_dir(workspace::root());
    process::run_quietly(&mut git).context("cannot pack what is committed")
}
