//! `soak fresh-root`: what README tells somebody with a fresh Debian, done word for word in one, from the packages that it
//! names to the last line of the tests. What the system has got by then must be what building needs, and no more.

mod packages;
mod readme;
mod root;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bpf_build::{process, toolchain, workspace};

use crate::results::{Report, Results};
use crate::tools::{Tools, asked};
use root::Root;

/// The releases that README names.
const RELEASES: [&str; 2] = ["bookworm", "trixie"];

/// Chooses one of them.
const RELEASE: &str = "FILTERD_RELEASE";

/// In short without the tests.
pub fn run(short: bool) -> Result<ExitCode> {
    ensure!(process::is_root(), "a fresh root needs root");
    let tools = Tools::provide(&[asked("debootstrap", "debootstrap", "--version")])?;
    let readme = fs::read_to_string(workspace::root().join("README.md")).context("cannot read README.md")?;
    let commands = readme::commands(&readme);
    let chosen = env::var(RELEASE).ok();
    let is_chosen = |release: &&str| chosen.as_deref().is_none_or(|chosen| chosen == *release);
    let mut results = Results::default();
    for release in RELEASES.into_iter().filter(is_chosen) {
        let mut report = Report::new(format!("Debian {release}, fresh"));
        report.begin("README");
        let told = tell(release, &commands, short, &tools, &mut report);
        told.unwrap_or_else(|error| report.complain(format!("{error:#}")));
        results.add(report);
    }
    Ok(results.tell())
}

/// Does what README says, and reports each command as libtest would.
fn tell(release: &str, commands: &[String], short: bool, tools: &Tools, report: &mut Report) -> Result<()> {
    let root = Root::make(release, &workspace::target()?.join("fresh").join(release), tools)?;
    let (packages, commands): (Vec<_>, Vec<_>) =
        commands.iter().partition(|command| command.starts_with("apt-get"));
    packages.iter().try_for_each(|install| root.perform(install))?;
    let before = root.packages()?;
    bundle(&root.path("source.bundle"))?;
    root.perform("git clone --quiet /source.bundle filterd")?;
    let mut told = Told { report, passed: 0, failed: 0 };
    for command in commands.into_iter().filter(|command| !(short && command.contains("test"))) {
        let begun = Instant::now();
        let performed = root.perform(&format!("cd filterd; {command}"));
        told.tell(command, begun.elapsed(), performed.err().map(|error| format!("{error:#}")));
    }
    let fault = packages::unneeded(&before, &root.packages()?, &root.needed_by(&toolchain::packages())?);
    told.tell("only what building needs is installed", Duration::ZERO, fault);
    if told.end() { root.remove() } else { Ok(()) }
}

/// How it went so far.
struct Told<'a> {
    report: &'a mut Report,
    passed: usize,
    failed: usize,
}

impl Told<'_> {
    fn tell(&mut self, what: &str, took: Duration, fault: Option<String>) {
        let verdict = if fault.is_none() { "ok" } else { "FAILED" };
        self.report.read(&format!("test {what} ... {verdict} ({:.0} s)", took.as_secs_f32()));
        fault.iter().for_each(|fault| self.report.read(fault));
        *(if fault.is_none() { &mut self.passed } else { &mut self.failed }) += 1;
    }

    fn end(self) -> bool {
        let (verdict, Self { report, passed, failed }) =
            (if self.failed == 0 { "ok" } else { "FAILED" }, self);
        report.read(&format!("test result: {verdict}. {passed} passed; {failed} failed"));
        report.end(failed == 0);
        failed == 0
    }
}

/// What is committed, and nothing that lies about.
fn bundle(to: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["bundle", "create", "--quiet"]).arg(to).arg("HEAD").current_dir(workspace::root());
    process::run_quietly(&mut git).context("cannot pack what is committed")
}
