//! Soaks, run by name and alone on this machine.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use bpf_build::compiled;

use super::chosen::Chosen;
use super::layer::TOOLS;
use super::programs::{Objects, Programs};
use super::progress::Progress;
use super::runner::{Pace, Program, Tests};
use super::{SOAK_OBJECT, report};
use crate::build::{self, Profile};
use crate::results::Results;
use crate::tools::Tools;

/// A test program with soaks, and what its environment holds.
pub struct Soaking {
    programs: Vec<Program>,
}

impl Soaking {
    /// Builds the program. As root it gets the daemon, and what soaks call.
    pub fn prepare(program: &str, profile: Profile, is_root: bool) -> Result<Self> {
        let programs = Programs::build_as(profile, &Chosen::default(), Objects::Committed)?;
        let mut soaking = Self { programs: programs.called(program).collect() };
        if is_root {
            soaking.set("FILTERD_BIN", build::daemon(Profile::Release)?);
            soaking.set(SOAK_OBJECT, compiled::soak()?);
            soaking.set("PATH", Tools::provide(&TOOLS)?.path());
        }
        Ok(soaking)
    }

    pub fn set(&mut self, variable: &str, value: impl Into<OsString>) {
        let value = value.into();
        self.programs
            .iter_mut()
            .for_each(|program| program.variables.push((variable.to_owned(), value.clone())));
    }

    /// Sets it, unless the caller of xtask has.
    pub fn set_unless_chosen(&mut self, variable: &str, value: &str) {
        if env::var_os(variable).is_none() {
            self.set(variable, value);
        }
    }

    /// Runs the tests whose names begin like this, or all, and prints the table.
    pub fn run(&self, begins: &[&str], limit: Duration) -> Result<ExitCode> {
        let (mut results, mut report, progress) = (Results::default(), report()?, Progress::new());
        let belongs = |test: &str| begins.is_empty() || begins.iter().any(|begin| test.contains(begin));
        let (programs, pace) = (&self.programs[..], Pace { jobs: 1, limit });
        let tests =
            Tests { place: "", layer: "soak", programs, belongs: &belongs, with_ignored: false, pace };
        tests.run(&Chosen::default(), &mut report, &progress)?;
        progress.clear();
        results.add(report);
        Ok(results.tell())
    }
}
