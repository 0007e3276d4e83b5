//! What became of the tests on each kernel, this machine's own among them: one table, printed at the end.

use std::fmt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::kept::{self, Success};
use crate::test::Failure;
use crate::test::tally::Tally;

/// One kernel's.
pub struct Report {
    kernel: String,
    begun: Instant,
    boot: Option<Duration>,
    stages: Vec<Stage>,
    complaints: Vec<String>,
}

struct Stage {
    name: String,
    begun: Instant,
    took: Option<Duration>,
    tally: Tally,
    /// Why it did not run.
    lack: Option<String>,
    /// What its row in the table is followed by.
    notes: Vec<String>,
}

impl Report {
    pub fn new(kernel: String) -> Self {
        Self { kernel, begun: Instant::now(), boot: None, stages: Vec::new(), complaints: Vec::new() }
    }

    /// It is up.
    pub fn note_boot(&mut self) {
        self.boot = Some(self.begun.elapsed());
    }

    /// A stage begins.
    pub fn begin(&mut self, stage: &str) {
        self.stages.push(Stage::new(stage));
    }

    /// Takes in a line that the stage's program prints, and shows it.
    pub fn read(&mut self, line: &str) {
        println!("{line}");
        self.stage().into_iter().for_each(|stage| stage.tally.read(line));
    }

    /// The same without showing it.
    pub fn hear(&mut self, line: &str) {
        self.stage().into_iter().for_each(|stage| stage.tally.read(line));
    }

    /// A test of the stage has passed.
    pub fn pass(&mut self) {
        self.stage().into_iter().for_each(|stage| stage.tally.pass());
    }

    /// A test of the stage skipped itself.
    pub fn skip(&mut self, reason: &str) {
        self.stage().into_iter().for_each(|stage| stage.tally.skip_test(reason.to_owned()));
    }

    /// A test of the stage runs only when it is asked for by other means.
    pub fn ignore(&mut self) {
        self.stage().into_iter().for_each(|stage| stage.tally.ignore());
    }

    /// A test of the stage has failed.
    pub fn fail_test(&mut self, failure: &Failure) {
        self.stage().into_iter().for_each(|stage| stage.tally.fail(failure.clone()));
    }

    /// The stage has ended, and is as good as its tests.
    pub fn finish(&mut self) {
        let has_failed = self.stage().is_some_and(|stage| stage.tally.has_failed());
        self.end(!has_failed);
    }

    /// A stage cannot run because something is missing. Where nobody would notice, that is a failure.
    pub fn lack(&mut self, stage: &str, reason: &impl fmt::Display) {
        self.lack_as(stage, reason, is_unattended());
    }

    fn lack_as(&mut self, stage: &str, reason: &impl fmt::Display, is_failure: bool) {
        let mut lacking = Stage::new(stage);
        if is_failure {
            lacking.end(false);
        } else {
            lacking.tally.ignore();
            lacking.took = Some(Duration::ZERO);
        }
        lacking.lack = Some(reason.to_string());
        println!("\n-- {}: {stage} does not run: {reason}", self.kernel);
        self.stages.push(lacking);
    }

    /// The stage has ended.
    pub fn end(&mut self, is_good: bool) {
        self.stage().into_iter().for_each(|stage| stage.end(is_good));
    }

    /// The stage that it is in.
    fn stage(&mut self) -> Option<&mut Stage> {
        self.stages.last_mut().filter(|stage| stage.took.is_none())
    }

    /// Of the tests of the stage, so many did not run, because their results are kept since then.
    pub fn note_kept(&mut self, kept: usize, all: usize, since: &str) {
        let note = format!("{kept} of {all} kept, the oldest from {since}; {}=1 runs all", kept::ANEW);
        self.stage().into_iter().for_each(|stage| stage.notes.push(note.clone()));
    }

    /// Ends a stage, all of whose tests passed earlier: their results are kept.
    pub fn replay(&mut self, stage: &str, success: &Success) {
        self.begin(stage);
        self.note_kept(success.lines.len(), success.lines.len(), &success.when);
        success.lines.iter().for_each(|_| self.pass());
        self.finish();
    }

    /// Did every test of the last stage run, and pass?
    pub fn has_passed_whole(&self) -> bool {
        self.stages.last().is_some_and(|stage| stage.is_good() && stage.tally.is_whole())
    }

    /// Something other than a test went wrong.
    pub fn complain(&mut self, complaint: String) {
        self.end(false);
        self.complaints.push(complaint);
    }

    /// A stage, which may not have begun, ends with an error.
    pub fn fail(&mut self, stage: &str, error: &anyhow::Error) {
        if self.stage().is_none() {
            self.begin(stage);
        }
        self.complain(format!("{error:#}"));
    }

    pub fn is_good(&self) -> bool {
        self.has_run() && self.complaints.is_empty() && self.stages.iter().all(Stage::is_good)
    }

    /// What was complained of beside all stages counts as one that failed: nobody is to read of none.
    fn sum(&self) -> Tally {
        let mut sum = Tally::default();
        self.stages.iter().for_each(|stage| sum.include(&stage.tally));
        if !self.complaints.is_empty() && !sum.has_failed() {
            sum.end_run(false);
        }
        sum
    }

    fn has_run(&self) -> bool {
        self.stages.iter().any(|stage| stage.lack.is_none())
    }
}

impl Stage {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            begun: Instant::now(),
            took: None,
            tally: Tally::default(),
            lack: None,
            notes: Vec::new(),
        }
    }

    fn is_good(&self) -> bool {
        if self.lack.is_some() { !self.tally.has_failed() } else { self.tally.is_good() }
    }

    fn end(&mut self, is_good: bool) {
        self.took = Some(self.begun.elapsed());
        self.tally.end_run(is_good);
    }
}

/// All kernels'.
#[derive(Default)]
pub struct Results {
    reports: Vec<Report>,
    /// Kernels that could not be had, and why.
    skipped: Vec<String>,
}

impl Results {
    pub fn add(&mut self, report: Report) {
        self.reports.push(report);
    }

    /// Adds those of other kernels.
    pub fn include(&mut self, other: Self) {
        self.reports.extend(other.reports);
        self.skipped.extend(other.skipped);
    }

    /// Has nothing run at all?
    pub fn are_empty(&self) -> bool {
        self.reports.iter().all(|report| report.stages.is_empty()) && self.skipped.is_empty()
    }

    /// A kernel could not be had.
    pub fn skip(&mut self, reason: String) {
        self.skipped.push(reason);
    }

    /// Prints the table, and says whether all is well.
    pub fn tell(&self) -> ExitCode {
        println!("\n{self}");
        if self.are_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn are_good(&self) -> bool {
        !self.reports.is_empty() && self.reports.iter().all(Report::is_good)
    }
}

/// The table, whoever failed, and a last line with the sums.
impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reports.iter().try_for_each(|report| report.fmt(f))?;
        self.skipped.iter().try_for_each(|reason| writeln!(f, "SKIPPED {reason}"))?;
        let mut sum = Tally::default();
        self.skipped.iter().for_each(|_| sum.ignore());
        self.reports.iter().for_each(|report| sum.include(&report.sum()));
        sum.fmt(f)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let booted = self.boot.map_or_else(String::new, |took| format!(", booted in {}", seconds(took)));
        writeln!(f, "{}{booted}", self.kernel)?;
        for stage in &self.stages {
            let took = stage.took.map_or_else(|| "not ended".to_owned(), seconds);
            writeln!(f, "  {:24} {took:>8}  {}", stage.name, stage.tally)?;
            stage.notes.iter().try_for_each(|note| writeln!(f, "    {note}"))?;
            let word = if stage.is_good() { "SKIPPED" } else { "FAILED" };
            stage.lack.iter().try_for_each(|reason| writeln!(f, "    {word} {reason}"))?;
            stage.tally.skipped().iter().try_for_each(|reason| writeln!(f, "    {reason}"))?;
            stage.tally.failures().iter().try_for_each(|failure| failure.fmt(f))?;
        }
        self.complaints.iter().try_for_each(|complaint| writeln!(f, "  FAILED: {complaint}"))
    }
}

/// In CI nobody reads what was skipped.
fn is_unattended() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    const NAMED: &str = "test packets::of_a_kind ... FAILED";
    const BAD: &str = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";

    fn report(stages: &[(&str, &str, bool)]) -> Report {
        let mut report = Report::new("Linux 6.1".to_owned());
        for (stage, line, is_good) in stages {
            report.begin(stage);
            report.read(line);
            report.end(*is_good);
        }
        report
    }

    #[test]
    fn a_kernel_whose_tests_pass_is_good() {
        let report = report(&[("program", GOOD, true)]);
        assert!(report.is_good());
        assert!(report.to_string().contains("2 passed, 0 failed"), "{report}");
    }

    #[test]
    fn failed_test_outweighs_a_passed_suite() {
        assert!(!report(&[("program", BAD, false), ("network", GOOD, true)]).is_good());
    }

    #[test]
    fn failed_test_is_named_in_the_table() {
        let mut report = Report::new("Linux 6.1".to_owned());
        report.begin("program");
        [NAMED, BAD].iter().for_each(|line| report.read(line));
        report.end(false);
        assert!(report.to_string().contains("\n    FAILED packets::of_a_kind\n"), "{report}");
    }

    #[test]
    fn guest_death_within_suite_fails_that_suite() {
        let mut report = Report::new("Linux 6.1".to_owned());
        report.begin("program");
        report.read("test a ... ok");
        report.complain("it died".to_owned());
        assert!(!report.is_good());
        assert!(report.to_string().contains("0 passed, 1 failed"), "{report}");
    }

    #[test]
    fn guest_death_outside_suites_counts_as_failure() {
        for rings in [&[][..], &[("program", GOOD, true)]] {
            let mut report = report(rings);
            report.complain("it died".to_owned());
            let table = Results { reports: vec![report], skipped: Vec::new() }.to_string();
            assert!(table.ends_with(" passed, 1 failed, 0 skipped"), "{table}");
        }
    }

    #[test]
    fn error_before_tests_counts_as_one_failure() {
        let mut report = Report::new("Linux 6.1".to_owned());
        report.fail("virtual machines", &anyhow::anyhow!("no initrd"));
        let table = Results { reports: vec![report], skipped: Vec::new() }.to_string();
        assert!(table.contains("FAILED: no initrd"), "{table}");
        assert_eq!(table.lines().last(), Some("0 passed, 1 failed, 0 skipped"));
    }

    #[test]
    fn a_kernel_that_runs_nothing_proves_nothing() {
        assert!(!report(&[]).is_good());
        assert!(!report(&[("program", "", true)]).is_good());
        assert!(!Results::default().are_good());
    }

    #[test]
    fn suite_without_its_tool_is_skipped() {
        let mut report = report(&[("program", GOOD, true)]);
        report.lack_as("model", &"there is no spin", false);
        report.begin("network");
        report.read(GOOD);
        report.end(true);
        assert!(report.is_good());
        let table = Results { reports: vec![report], skipped: Vec::new() }.to_string();
        assert!(table.contains("SKIPPED there is no spin"), "{table}");
        assert_eq!(table.lines().last(), Some("4 passed, 0 failed, 1 skipped"));
    }

    #[test]
    fn missing_required_tool_counts_as_failure() {
        let mut report = report(&[("program", GOOD, true)]);
        report.lack_as("model", &"there is no spin", true);
        assert!(!report.is_good());
        let table = Results { reports: vec![report], skipped: Vec::new() }.to_string();
        assert!(table.contains("FAILED there is no spin"), "{table}");
        assert_eq!(table.lines().last(), Some("2 passed, 1 failed, 0 skipped"));
    }

    #[test]
    fn rings_that_all_lack_something_prove_nothing() {
        let mut report = Report::new("Linux 6.1".to_owned());
        report.lack_as("model", &"there is no spin", false);
        assert!(!report.is_good());
    }

    #[test]
    fn last_line_counts_tests_of_all_kernels() {
        let reports = vec![report(&[("program", GOOD, true)]), report(&[("program", BAD, false)])];
        let table = Results { reports, skipped: vec!["Linux 6.12".to_owned()] }.to_string();
        assert_eq!(table.lines().last(), Some("3 passed, 1 failed, 1 skipped"));
    }
}
