//! `vm`: the rings of stories on other kernels than this machine's, each booted in a virtual machine of its own.

mod accelerator;
mod bench;
mod board;
mod choice;
mod foreign;
mod guest;
mod initrd;
mod kernel;
mod log;
mod machine;
mod outside;
mod plan;
mod programs;
mod ring;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use accelerator::Accelerator;
use bench::Bench;
use guest::Stage;
use kernel::Kernel;
use machine::{Ending, Limits};
use plan::{Plan, Step};
use ring::Ring;

use crate::kept::Kept;
use crate::kept::verifier::{self, Extent, Verifier};
use crate::processor::Processor;
use crate::results::{Report, Results};
use crate::side_by_side::{self, Places};
use crate::test::{Failure, Progress};
use crate::tools::Missing;

/// The kernels that filterd is tested on: the oldest it runs on, the newest that Debian 12 offers, that one again as machines of
/// metal run it, and the newest 7.x of Debian 13's backports.
const TESTED: [&str; 4] = ["6.1", "6.12", "6.12-generic", "7"];

/// In short, those between the oldest and the newest are told by one: the kernel for metal, which has most drivers.
const IN_SHORT: [&str; 3] = ["6.1", "6.12-generic", "7"];

/// The same for arm64, which this machine can only interpret: they are booted when they are asked for.
const OF_ARM64: [&str; 2] = ["6.1-arm64", "6.12-arm64"];

/// What a kernel for metal is named with: its source is that of the cloud's, built with more drivers.
const OF_METAL: &str = "-generic";

/// Longer than the longest boot takes on a processor that is emulated, and that other work shares.
const LIMIT: u64 = 1800;

/// A guest in which no test ends for so long hangs. Under emulation the longest test takes a third of it.
const SILENCE: Duration = Duration::from_secs(300);

/// How often a guest is booted anew for the tests that a hanging one kept from running.
const BOOTS: usize = 4;

/// What is told where no kernel could be booted.
const STAGE: &str = "virtual machines";

/// What to boot, and what to do there.
#[derive(Debug, Args)]
pub struct Vm {
    /// Kernels, as in 6.1, 6.1-generic, 6.1-arm64 or 7; without any, all that filterd is tested on
    kernels: Vec<String>,
    /// Give a prompt in the first of them instead of running tests; Ctrl-A X ends it
    #[arg(long, conflicts_with_all = ["ring", "filter"])]
    shell: bool,
    /// Run these rings only
    #[arg(long, value_enum)]
    ring: Vec<Ring>,
    /// Of the network ring, only stories in which kernels could differ, and between the oldest and the newest kernel only
    /// devices and packets. Whole machines on the newest kernel
    #[arg(long)]
    short: bool,
    /// Boot so many at a time; one a processor, unless told otherwise
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,
    /// A boot that takes more seconds than this hangs
    #[arg(long, default_value_t = LIMIT, value_name = "SECONDS")]
    limit: u64,
    /// What a guest may become: a disk with a Debian
    #[arg(skip)]
    disk: Option<PathBuf>,
    /// The daemon in guests, if it is not one that is built for them
    #[arg(skip)]
    daemon: Option<PathBuf>,
    /// After `--`: parts of the names of tests, to run only these
    #[arg(last = true)]
    filter: Vec<String>,
}

impl Vm {
    /// The tests that depend on the kernel, on the oldest that this release of Debian offers.
    pub fn oldest() -> Self {
        let oldest = oldest_of(&TESTED, kernel::is_offered);
        let ring = vec![Ring::Program, Ring::Network, Ring::Verifier];
        Self { kernels: vec![oldest.to_owned()], ring, short: true, ..Self::every() }
    }

    /// All that filterd is tested on.
    pub fn every() -> Self {
        Self {
            kernels: Vec::new(),
            shell: false,
            ring: Vec::new(),
            short: false,
            jobs: None,
            limit: LIMIT,
            disk: None,
            daemon: None,
            filter: Vec::new(),
        }
    }

    /// The same in short, on fewer kernels.
    pub fn every_in_short() -> Self {
        Self { kernels: IN_SHORT.map(ToOwned::to_owned).into(), short: true, ..Self::every() }
    }

    /// The same with this daemon in guests.
    pub fn with_daemon(self, daemon: PathBuf) -> Self {
        Self { daemon: Some(daemon), ..self }
    }

    /// What the package does in a guest that becomes the Debian of this disk: on the oldest kernel and the newest.
    pub fn of_a_disk(disk: PathBuf) -> Self {
        Self {
            kernels: ["6.1", "6.12"].map(ToOwned::to_owned).into(),
            ring: vec![Ring::Guest],
            disk: Some(disk),
            filter: vec!["package::".to_owned()],
            ..Self::every()
        }
    }

    /// What others are given for arm64, on the oldest kernel and the newest.
    pub fn of_arm64() -> Self {
        Self { kernels: OF_ARM64.map(ToOwned::to_owned).into(), ..Self::every() }
    }

    /// As typed: gives a prompt, or runs tests and prints what became of them.
    pub fn run(&self) -> Result<ExitCode> {
        if self.shell {
            return self.shell();
        }
        let mut results = Results::default();
        let progress = Progress::new();
        self.test_all(&mut results, &progress, &self.places());
        progress.clear();
        Ok(results.tell())
    }

    fn shell(&self) -> Result<ExitCode> {
        let bench = Bench::prepare(&self.rings(), &[self.series()[0]], None)?;
        bench.machine(&bench.kernels[0], "shell", "shell\n")?.shell()
    }

    /// The same with as many guests at a time as there are places, but a kernel that apt does not offer is skipped: other
    /// distributions have others.
    pub fn test_where_it_can(mut self, results: &mut Results, progress: &Progress, places: &Places) {
        let named = self.series().into_iter().map(ToOwned::to_owned);
        let (offered, missing): (Vec<_>, Vec<_>) = named.partition(|series| kernel::is_offered(series));
        missing.iter().for_each(|series| results.skip(format!("Linux {series}: apt does not offer it")));
        self.kernels = offered;
        if !self.kernels.is_empty() {
            self.test_all(results, progress, places);
        }
    }

    /// Boots all kernels, and notes what became of each test, or why there was none.
    fn test_all(&self, results: &mut Results, progress: &Progress, places: &Places) {
        let Err(error) = self.test(results, progress, places) else { return };
        let mut report = Report::new(self.series().join(", "));
        match error.downcast::<Missing>() {
            Ok(missing) => report.lack(STAGE, &missing),
            Err(error) => report.fail(STAGE, &error),
        }
        results.add(report);
    }

    fn test(&self, results: &mut Results, progress: &Progress, places: &Places) -> Result<()> {
        let bench = Bench::prepare(&self.rings(), &self.series(), self.daemon.as_deref())?;
        // The newest kernel takes longest under emulation. If it began last, it would run alone.
        let mut order: Vec<_> = bench.kernels.iter().enumerate().collect();
        if order.len() > 2 {
            order[1..].rotate_right(1);
        }
        let tests = order.into_iter().map(|(number, kernel)| {
            let bench = &bench;
            move || (number, self.report_on(kernel, bench, progress))
        });
        let mut reports = side_by_side::within(places, tests.collect());
        reports.sort_by_key(|(number, _)| *number);
        reports.into_iter().for_each(|(_, report)| results.add(report));
        Ok(())
    }

    /// Under emulation a guest takes one processor.
    pub fn places(&self) -> Places {
        let processors = || thread::available_parallelism().map_or(1, usize::from);
        Places::new(self.jobs.unwrap_or_else(processors))
    }

    fn report_on(&self, kernel: &Kernel, bench: &Bench, progress: &Progress) -> Report {
        let mut report =
            Report::new(format!("Linux {} ({}, {})", kernel.series, kernel.release, bench.accelerator));
        let tested = self.test_on(kernel, bench, &mut report, progress);
        tested.unwrap_or_else(|error| report.fail(STAGE, &error));
        report
    }

    fn test_on(
        &self,
        kernel: &Kernel,
        bench: &Bench,
        report: &mut Report,
        progress: &Progress,
    ) -> Result<()> {
        let limits = Limits { whole: Duration::from_secs(self.limit), silence: SILENCE };
        let extent = Extent::in_guest(bench.accelerator == Accelerator::Tcg);
        let (mut plan, keys) = self.replay(kernel, bench, extent, report)?;
        for _ in 0..BOOTS {
            if plan.0.is_empty() {
                break;
            }
            let machine = bench.machine(kernel, "rings", &plan.text(extent))?;
            match machine.run(limits, report, progress)? {
                Ending::Over { passed } => {
                    for (stage, tests) in passed {
                        keys.iter()
                            .filter(|(kept, _)| *kept == stage)
                            .for_each(|(_, kept)| kept.remember(&tests));
                    }
                    break;
                }
                Ending::Hung { stage, ended } => {
                    let listed = |stage: &Step| bench.list(stage);
                    for test in plan.leave_hanging(&stage, &ended, listed)? {
                        report.fail_test(&Failure::new(
                            &test,
                            &format!(
                                "it, or one beside it, hangs: no test ended for {} s",
                                SILENCE.as_secs()
                            ),
                        ));
                    }
                    report.end(false);
                }
            }
        }
        if self.rings().contains(&Ring::Guest) && self.has_whole_machines(&kernel.series) {
            self.test_outside(kernel, bench, report, progress)?;
        }
        Ok(())
    }

    /// Reports the stages of the verifier whose results are kept. Returns a plan of the others, and where to keep their results.
    fn replay(
        &self,
        kernel: &Kernel,
        bench: &Bench,
        extent: Extent,
        report: &mut Report,
    ) -> Result<(Plan, Vec<(String, Kept)>)> {
        let (accelerator, processor) = (bench.accelerator.to_string(), kernel::processor_of(&kernel.series));
        let guest = Verifier::Guest { release: &kernel.release, processor, accelerator: &accelerator };
        let (mut steps, mut keys) = (Vec::new(), Vec::new());
        for step in self.plan(&kernel.series) {
            if step.stage.ring() == Ring::Verifier {
                let stage = step.stage.to_string();
                let kept = verifier::key(&stage, guest, verifier::Objects::AsTheyCome, extent, &step.words)?;
                if let Some(success) = kept.find() {
                    report.replay(&stage, &success);
                    continue;
                }
                keys.push((stage, kept));
            }
            steps.push(step);
        }
        Ok((Plan(steps), keys))
    }

    fn test_outside(
        &self,
        kernel: &Kernel,
        bench: &Bench,
        report: &mut Report,
        progress: &Progress,
    ) -> Result<()> {
        let tools = match bench.outside() {
            Ok(tools) => tools,
            Err(missing) => {
                report.lack(Ring::Guest.program(), &missing);
                return Ok(());
            }
        };
        let machine = bench.machine(kernel, "guests", outside::PLAN)?;
        let choice = outside::Choice { names: &self.filter, disk: self.disk.as_deref() };
        outside::run(bench.program(Ring::Guest), &choice, &machine, &tools, report, progress)
    }

    fn series(&self) -> Vec<&str> {
        let named: Vec<_> = self.kernels.iter().map(String::as_str).collect();
        if named.is_empty() { TESTED.to_vec() } else { named }
    }

    fn rings(&self) -> Vec<Ring> {
        let mut rings = if self.ring.is_empty() { Ring::ALL.to_vec() } else { self.ring.clone() };
        // Its stories make cards and disks of a PC.
        rings.retain(|ring| *ring != Ring::Guest || !self.is_foreign());
        rings.sort_unstable();
        rings.dedup();
        rings
    }

    /// What the guest does, stage by stage.
    fn plan(&self, series: &str) -> Vec<Step> {
        let words = |stage| match stage {
            Stage::Network => self.network(series),
            Stage::Verifier if self.filter.is_empty() && self.is_foreign() => {
                vec![choice::VERIFIER_ON_ANOTHER_PROCESSOR.to_owned()]
            }
            Stage::VerifierUnderLockdown if self.filter.is_empty() => vec![choice::UNDER_LOCKDOWN.to_owned()],
            Stage::Program | Stage::Verifier | Stage::VerifierUnderLockdown => self.words(),
        };
        // What a verifier and a program's run depend on is the same in kernels of one source.
        let is_wanted =
            |ring: &Ring| !matches!(ring, Ring::Program | Ring::Verifier) || !self.is_twin(series);
        let rings = self.rings().into_iter().filter(is_wanted);
        // What a lockdown forbids it forbids on every processor.
        let is_told = |stage: &Stage| *stage != Stage::VerifierUnderLockdown || !self.is_foreign();
        let stages = rings.flat_map(Stage::of).filter(is_told);
        stages.map(|stage| Step { stage, words: words(stage) }).collect()
    }

    /// Is it for another processor than all others?
    fn is_foreign(&self) -> bool {
        self.series().iter().any(|series| kernel::processor_of(series) != Processor::Amd64)
    }

    /// Is a kernel of the same source told all that is asked for? Then they have one verifier, and run programs alike.
    fn is_twin(&self, series: &str) -> bool {
        series.strip_suffix(OF_METAL).is_some_and(|source| self.series().contains(&source))
    }

    /// All of the ring on the first kernel, the oldest one; what was asked for by name on each.
    fn network(&self, series: &str) -> Vec<String> {
        if !self.filter.is_empty() {
            return self.words();
        }
        if self.is_foreign() {
            return choice::for_another_processor().collect();
        }
        let is_oldest = self.series().first() == Some(&series);
        let extent = match self.short {
            false if is_oldest => choice::Extent::Whole,
            true if !is_oldest && !self.is_newest(series) => choice::Extent::Drivers,
            true | false => choice::Extent::Kernels,
        };
        choice::words(extent).collect()
    }

    fn words(&self) -> Vec<String> {
        self.filter.clone()
    }

    fn has_whole_machines(&self, series: &str) -> bool {
        !self.short || self.is_newest(series)
    }

    fn is_newest(&self, series: &str) -> bool {
        self.series().last() == Some(&series)
    }
}

/// Debian 13 offers no 6.1. Where none is offered the first is asked for, and the table says that it is not there.
fn oldest_of(tested: &[&'static str], is_offered: impl Fn(&str) -> bool) -> &'static str {
    tested.iter().find(|series| is_offered(series)).unwrap_or(&tested[0])
}

/// Where a stage's program lies in the guest.
fn in_guest(program: &str) -> PathBuf {
    PathBuf::from("opt").join(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(vm: &Vm, series: &str) -> String {
        Plan(vm.plan(series)).to_string()
    }

    #[test]
    fn one_verifier_and_program_ring_run_per_source() {
        let (every, one) = (Vm::every(), Vm { kernels: vec!["6.12-generic".to_owned()], ..Vm::every() });
        assert!(
            planned(&every, "6.12").contains("verifier")
                && planned(&one, "6.12-generic").contains("verifier")
        );
        let plan = planned(&every, "6.12-generic");
        let has = |stage: &str| plan.lines().any(|line| line.split(' ').next() == Some(stage));
        assert!(has("network") && !has("verifier") && !has("program"), "{plan}");
    }

    #[test]
    fn kernel_between_the_ends_runs_devices_alone_in_short() {
        let short = Vm::every_in_short();
        assert!(planned(&short, "6.12-generic").contains("verifier"));
        let whole = ["6.1", "6.12-generic", "7"].map(|series| short.has_whole_machines(series));
        assert_eq!(whole, [false, false, true]);
        for (series, has_interfaces) in [("6.1", true), ("6.12-generic", false), ("7", true)] {
            let plan = planned(&short, series);
            assert!(plan.contains(" devices::"), "{plan}");
            assert_eq!(plan.contains(" interfaces::"), has_interfaces, "{plan}");
        }
        assert!(planned(&Vm::every(), "6.12-generic").contains(" interfaces::"));
    }

    #[test]
    fn equal_verifiers_are_reported_for_one_processor() {
        let arm = Vm::of_arm64();
        let (here, there) = (planned(&Vm::every(), "6.1"), planned(&arm, "6.1-arm64"));
        assert!(
            here.contains("verifier \n") && here.contains("verifier-under-lockdown any_number"),
            "{here}"
        );
        assert!(there.contains("verifier is_accepted\n") && !there.contains("lockdown"), "{there}");
        let asked = Vm { filter: vec!["any_size".into()], ..arm };
        assert!(planned(&asked, "6.1-arm64").contains("verifier any_size\n"));
    }

    #[test]
    fn release_without_oldest_kernel_uses_the_next() {
        assert_eq!(oldest_of(&TESTED, |_| true), "6.1");
        assert_eq!(oldest_of(&TESTED, |series| series != "6.1"), "6.12");
        assert_eq!(oldest_of(&TESTED, |_| false), "6.1");
    }
}
