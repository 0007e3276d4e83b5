//! What became of the tests on each kernel, as one table.

use std::fmt;
use std::time::{Duration, Instant};

use super::guest::Line;
use crate::test::tally::Tally;

/// One kernel's.
pub struct Boot {
    series: String,
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
}

impl Boot {
    pub fn new(series: &str) -> Self {
        let series = series.to_owned();
        Self { series, begun: Instant::now(), boot: None, stages: Vec::new(), complaints: Vec::new() }
    }

    /// Takes in a line of the guest's, and shows what its programs print.
    pub fn hear(&mut self, line: &Line<'_>) {
        match line {
            Line::Booted => self.boot = Some(self.begun.elapsed()),
            Line::Begin(stage) => {
                println!("\n-- Linux {}: {stage}", self.series);
                self.stages.push(Stage::new(stage));
            }
            Line::End(is_good) => self.stage().into_iter().for_each(|stage| stage.end(*is_good)),
            Line::Output(text) => {
                println!("{text}");
                self.stage().into_iter().for_each(|stage| stage.tally.read(text));
            }
            Line::Done if self.stages.is_empty() => self.complain("it had nothing to do".to_owned()),
            Line::Done => {}
        }
    }

    /// The stage that it is in.
    fn stage(&mut self) -> Option<&mut Stage> {
        self.stages.last_mut().filter(|stage| stage.took.is_none())
    }

    /// Something other than a test went wrong.
    pub fn complain(&mut self, complaint: String) {
        self.stage().into_iter().for_each(|stage| stage.end(false));
        self.complaints.push(complaint);
    }

    pub fn is_good(&self) -> bool {
        self.complaints.is_empty() && self.stages.iter().all(|stage| stage.tally.is_good())
    }
}

impl Stage {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), begun: Instant::now(), took: None, tally: Tally::default() }
    }

    fn end(&mut self, is_good: bool) {
        self.took = Some(self.begun.elapsed());
        self.tally.end_run(is_good);
    }
}

/// All kernels'.
#[derive(Default)]
pub struct Results {
    boots: Vec<Boot>,
}

impl Results {
    pub fn add(&mut self, boot: Boot) {
        self.boots.push(boot);
    }

    pub fn are_good(&self) -> bool {
        !self.boots.is_empty() && self.boots.iter().all(Boot::is_good)
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.boots.iter().try_for_each(|boot| boot.fmt(f))
    }
}

impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let booted = self
            .boot
            .map_or_else(|| "did not boot".to_owned(), |took| format!("booted in {}", seconds(took)));
        writeln!(f, "Linux {:6} {booted}", self.series)?;
        for stage in &self.stages {
            let took = stage.took.map_or_else(|| "not ended".to_owned(), seconds);
            writeln!(f, "  {:25} {:8} {}", stage.name, took, stage.tally)?;
            stage.tally.skipped().iter().try_for_each(|reason| writeln!(f, "    {reason}"))?;
        }
        self.complaints.iter().try_for_each(|complaint| writeln!(f, "  FAILED: {complaint}"))
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(lines: &[&str]) -> Boot {
        let mut boot = Boot::new("6.1");
        lines.iter().for_each(|line| boot.hear(&Line::read(line)));
        boot
    }

    const GOOD: &str = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    const BAD: &str = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";

    #[test]
    fn a_guest_whose_tests_pass_is_good() {
        let boot = boot(&["@@ booted", "@@ begin program", GOOD, "@@ end 0", "@@ done"]);
        assert!(boot.is_good());
        assert!(boot.to_string().contains("2 passed, 0 failed"), "{boot}");
    }

    #[test]
    fn a_failed_test_is_not_forgotten_over_a_good_ring() {
        let boot =
            boot(&["@@ begin program", BAD, "@@ end 101", "@@ begin network", GOOD, "@@ end 0", "@@ done"]);
        assert!(!boot.is_good());
    }

    #[test]
    fn a_guest_that_dies_within_a_ring_has_failed_it() {
        let mut boot = boot(&["@@ booted", "@@ begin program", "test a ... ok"]);
        boot.complain("it died".to_owned());
        assert!(!boot.is_good());
        assert!(boot.to_string().contains("0 passed, 1 failed"), "{boot}");
    }

    #[test]
    fn a_guest_that_runs_nothing_proves_nothing() {
        assert!(!boot(&["@@ booted", "@@ done"]).is_good());
        assert!(!boot(&["@@ booted", "@@ begin program", "@@ end 0", "@@ done"]).is_good());
    }
}
