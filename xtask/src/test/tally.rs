//! Counts tests by what their programs print, over several programs and runs.

use std::fmt;

use super::failure::Failure;

/// What a story begins the line with that tells why it did not run.
const SKIPPED: &str = "SKIPPED ";

/// The sums so far.
#[derive(Debug, Default)]
pub struct Tally {
    passed: usize,
    failed: usize,
    ignored: usize,
    /// Why tests skipped themselves; libtest counts them among the passed.
    skipped: Vec<String>,
    failures: Vec<Failure>,
    speech: Speech,
    failed_before: usize,
}

/// Whose words the lines are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Speech {
    /// Those of libtest.
    #[default]
    Libtest,
    /// Those of a test.
    Test,
    /// Those of a test that has told why it did not run.
    Skipped,
    /// Those of a test that failed: the one with this number.
    Failed(usize),
}

impl Tally {
    /// Takes in one line.
    pub fn read(&mut self, line: &str) {
        if let Some(name) = speaker(line) {
            let failed = self.failures.iter().rposition(|failure| failure.is_called(name));
            self.speech = failed.map_or(Speech::Test, Speech::Failed);
        } else if line == "successes:" || line == "failures:" {
            self.speech = Speech::Libtest;
        } else if line.starts_with(SKIPPED) {
            self.skip(line);
        } else if let Some(sums) = line.strip_prefix("test result: ") {
            self.add(sums);
        } else if let Speech::Failed(number) = self.speech {
            self.failures[number].hear(line);
        } else if self.speech == Speech::Libtest {
            self.failures.extend(Failure::told(line));
        }
    }

    /// A test may give several reasons.
    fn skip(&mut self, line: &str) {
        if self.speech != Speech::Skipped {
            self.skipped.push(line.to_owned());
        }
        if self.speech == Speech::Test {
            self.speech = Speech::Skipped;
        }
    }

    /// A test may print what looks like sums: tests of this very file do.
    fn add(&mut self, sums: &str) {
        if self.speech == Speech::Libtest {
            self.passed += sum(sums, "passed");
            self.failed += sum(sums, "failed");
            self.ignored += sum(sums, "ignored");
        }
    }

    pub fn pass(&mut self) {
        self.passed += 1;
    }

    /// A test passed without having run, for this reason. It counts as skipped.
    pub fn skip_test(&mut self, reason: String) {
        self.passed += 1;
        self.skipped.push(reason);
    }

    pub fn fail(&mut self, failure: Failure) {
        self.failed += 1;
        self.failures.push(failure);
    }

    /// A run has ended. One that failed without a failed test did not compile, or died: that counts as one.
    pub fn end_run(&mut self, succeeded: bool) {
        if !succeeded && self.failed == self.failed_before {
            self.failed += 1;
        }
        self.failed_before = self.failed;
        self.speech = Speech::Libtest;
    }

    /// Something did not run at all.
    pub fn ignore(&mut self) {
        self.ignored += 1;
    }

    /// Adds another's sums.
    pub fn include(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.skipped.extend_from_slice(&other.skipped);
        self.failures.extend_from_slice(&other.failures);
    }

    /// Why tests skipped themselves.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Whoever failed, with what it said.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    pub fn has_failed(&self) -> bool {
        self.failed > 0
    }

    /// Was nothing left out?
    pub fn is_whole(&self) -> bool {
        self.ignored == 0 && self.skipped.is_empty()
    }

    /// Something ran, and nothing failed.
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.passed.saturating_sub(self.skipped.len());
        write!(f, "{passed} passed, {} failed, {} skipped", self.failed, self.ignored + self.skipped.len())
    }
}

/// The test whose words follow.
fn speaker(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// The 12 of "ok. 12 passed; 0 failed; …".
fn sum(sums: &str, of: &str) -> usize {
    let words: Vec<&str> = sums.split([' ', ';', '.']).collect();
    let found = words.windows(2).find(|pair| pair[1] == of);
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(text: &str, succeeded: bool) -> Tally {
        let mut tally = Tally::default();
        text.lines().for_each(|line| tally.read(line));
        tally.end_run(succeeded);
        tally
    }

    #[test]
    fn programs_are_added_up() {
        let text = "test a ... ok\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
                    test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.10s";
        let tally = tally(text, false);
        assert_eq!(tally.to_string(), "15 passed, 2 failed, 1 skipped");
        assert!(!tally.is_good());
    }

    #[test]
    fn a_test_that_skips_itself_did_not_pass() {
        let text = "---- vlan::five stdout ----\nSKIPPED vlan::five: no such thing\nSKIPPED again\n\n\
                    ---- other stdout ----\nhello\n\nsuccesses:\n    other\n\
                    test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s";
        let tally = tally(text, true);
        assert_eq!(tally.to_string(), "2 passed, 0 failed, 1 skipped");
        assert_eq!(tally.skipped, ["SKIPPED vlan::five: no such thing"]);
        assert!(tally.is_good());
    }

    #[test]
    fn output_of_a_test_is_no_result() {
        let text = "successes:\n\n---- results stdout ----\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\n\
                    successes:\n    results\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured";
        assert_eq!(tally(text, true).to_string(), "1 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn failed_test_is_named_with_last_output() {
        let text = "test a ... ok\ntest b::c ... FAILED\n\nsuccesses:\n\n---- a stdout ----\nhi\n\nsuccesses:\n    a\n\nfailures:\n\n\
                    ---- b::c stdout ----\nhello\n\nthread 'b::c' (7) panicked at src/b.rs:1:2:\nwhat a day\nstack backtrace:\n\
                    \x20  0: core\n\n\nfailures:\n    b::c\n\n\
                    test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        let told = tally(text, false).failures().iter().map(ToString::to_string).collect::<String>();
        assert_eq!(
            told,
            "    FAILED b::c\n      thread 'b::c' (7) panicked at src/b.rs:1:2:\n      what a day\n"
        );
    }

    #[test]
    fn a_run_that_dies_is_a_failure() {
        let tally = tally("running 3 tests\ntest a ... ok", false);
        assert_eq!(tally.to_string(), "0 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn each_run_can_die() {
        let mut tally = tally("test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured", false);
        tally.end_run(false);
        assert_eq!(tally.to_string(), "1 passed, 2 failed, 0 skipped");
    }

    #[test]
    fn no_tests_prove_nothing() {
        assert!(!tally("", true).is_good());
    }
}
