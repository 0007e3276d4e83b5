//! Test programs that are named on the command line, run as the layers are.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use super::chosen::Chosen;
use super::progress::Progress;
use super::report;
use super::runner::{Pace, Program, Tests};
use crate::results::Results;

#[derive(Debug, Args)]
pub struct RunTests {
    /// Seconds after which a test is killed
    #[arg(long, default_value_t = 120)]
    limit: u64,
    /// How many tests run at a time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Programs that take the flags of libtest
    #[arg(required = true)]
    programs: Vec<PathBuf>,
}

impl RunTests {
    pub fn run(&self) -> Result<ExitCode> {
        let here = std::env::current_dir().context("there is no current directory")?;
        let program = |file: &PathBuf| Program {
            file: here.join(file),
            directory: here.clone(),
            variables: Vec::new(),
        };
        let programs: Vec<_> = self.programs.iter().map(program).collect();
        let (mut results, mut report, progress) = (Results::default(), report()?, Progress::new());
        let pace = Pace { jobs: self.jobs, limit: Duration::from_secs(self.limit) };
        let belongs = |_: &str| true;
        let tests = Tests {
            place: "",
            layer: "by-hand",
            programs: &programs,
            belongs: &belongs,
            with_ignored: false,
            pace,
        };
        tests.run(&Chosen::default(), &mut report, &progress)?;
        progress.clear();
        results.add(report);
        Ok(results.tell())
    }
}
