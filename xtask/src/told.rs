//! How it went, told as libtest would: each command is a test.

use anyhow::Result;

use crate::cost::Cost;
use crate::results::Report;

/// How it went so far.
pub struct Told<'a> {
    report: &'a mut Report,
    passed: usize,
    failed: usize,
}

impl<'a> Told<'a> {
    /// Nothing was done yet.
    pub fn begin(report: &'a mut Report) -> Self {
        Self { report, passed: 0, failed: 0 }
    }

    /// This was done, and that became of it.
    pub fn tell(&mut self, what: &str, (done, cost): (Result<()>, Cost)) {
        let (verdict, count) =
            if done.is_ok() { ("ok", &mut self.passed) } else { ("FAILED", &mut self.failed) };
        *count += 1;
        self.report.read(&format!("test {what} ... {verdict} ({cost})"));
        done.err().iter().for_each(|error| self.report.read(&format!("{error:#}")));
    }

    /// Nothing more follows. Was all well?
    pub fn end(self) -> bool {
        let Self { report, passed, failed } = self;
        let is_good = failed == 0;
        let verdict = if is_good { "ok" } else { "FAILED" };
        report.read(&format!("test result: {verdict}. {passed} passed; {failed} failed"));
        report.end(is_good);
        is_good
    }
}
