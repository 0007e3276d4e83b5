//! The tasks, as they are typed.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use bpf_build::{compiled, toolchain};
use clap::{Parser, Subcommand};

use crate::build::Profile;
use crate::test::{by_hand, supervise};
use crate::{bench, build, check, demo, dist, manual, prove, run, soak, test, vm};

/// Everything that is done to this project is done through this door.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
pub struct Xtask {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Find what building for BPF needs, or install it
    Toolchain,
    /// Build the BPF programs and the daemon, and tell where it lies
    Build {
        /// Build for speed (this is the default)
        #[arg(long, conflicts_with = "debug")]
        release: bool,
        /// Build for debugging
        #[arg(long)]
        debug: bool,
    },
    /// Compile the BPF programs, and write the objects that come with the source
    Objects {
        /// Write nothing: fail unless the objects that are there are what the compiler and the linker of their MANIFEST make of
        /// these sources, byte for byte
        #[arg(long)]
        check: bool,
    },
    /// Write the manual and completions, docs/man and configs/completions, out of what `--help` and the reference of the configuration say
    Manual,
    /// Check format, lints, imports, where unsafe code lies, and that the BPF objects are of this source
    Check {
        /// Print the section [imports] of xtask/imports.toml as it would have to be for this code, and check nothing
        #[arg(long)]
        table: bool,
    },
    /// Run the tests on this machine, and those that depend on the kernel on the oldest one too (as root)
    Test(test::Test),
    /// Run these test programs as the layers are run. The tests of the runner start this
    #[command(hide = true)]
    RunTests(by_hand::RunTests),
    /// Run one program for a limited time. The runner of tests starts this
    #[command(hide = true)]
    Supervise(supervise::Supervise),
    /// Prove that the compiled judge does what its specification says, as far as docs/internals/proof.md goes
    Prove(prove::Prove),
    /// Tell one of the stories that go on for long in full (as root)
    Soak {
        #[arg(value_enum)]
        soak: soak::Soak,
        /// As `test` does
        #[arg(long)]
        short: bool,
    },
    /// Build the daemon and run it with these arguments, as in `cargo xtask run --iface eth0`
    #[command(disable_help_flag = true)]
    Run {
        /// Handed on as they are
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Measure, side by side with what it is measured against (as root)
    Bench(bench::Bench),
    /// Run the rings on other kernels, each in a virtual machine
    Vm(vm::Vm),
    /// Pack what is given to others: a .deb and the binary for each processor, the source, the bill of materials, and their signed checksums
    Dist(dist::Dist),
    /// See it block and unblock a visitor, in network namespaces of its own (as root)
    Demo,
}

impl Xtask {
    pub fn perform(self) -> Result<ExitCode> {
        match self.task {
            Task::Toolchain => println!("{}", toolchain::ensure()?),
            Task::Build { debug, .. } => {
                println!(
                    "{}",
                    build::daemon(if debug { Profile::Debug } else { Profile::Release })?.display()
                );
            }
            Task::Objects { check: true } => {
                compiled::hold_by_bytes()?;
                println!("objects: they are what becomes of these sources, byte for byte");
            }
            Task::Objects { check: false } => compiled::write()?,
            Task::Manual => manual::write()?,
            Task::Check { table: true } => check::print_table()?,
            Task::Check { table: false } => check::all()?,
            Task::Test(test) => return test.run(),
            Task::RunTests(run) => return run.run(),
            Task::Supervise(supervise) => return Ok(supervise.run()),
            Task::Prove(prove) => return prove.run(),
            Task::Soak { soak, short } => return soak::run(soak, short),
            Task::Bench(bench) => bench.run()?,
            Task::Run { arguments } => run::daemon(&arguments)?,
            Task::Vm(vm) => return vm.run(),
            Task::Dist(dist) => println!("{}", dist.make()?.display()),
            Task::Demo => demo::show()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_tasks_do_not_contradict_each_other() {
        Xtask::command().debug_assert();
    }

    #[test]
    fn run_hands_its_arguments_on_as_they_are() {
        let words = ["--iface", "eth0", "--help", "-q"];
        let xtask = Xtask::try_parse_from(["xtask", "run"].into_iter().chain(words)).unwrap();
        let Task::Run { arguments } = xtask.task else { panic!("not run: {xtask:?}") };
        assert_eq!(arguments, words);
    }

    #[test]
    fn test_takes_names_or_all() {
        let parse = |words: &[&str]| Xtask::try_parse_from(["xtask", "test"].iter().chain(words));
        for (words, is_right) in [
            (&[][..], true),
            (&["network", "vlan"], true),
            (&["network", "--", "vlan"], true),
            (&["--all"], true),
            (&["--all", "network"], false),
        ] {
            assert_eq!(parse(words).is_ok(), is_right, "{words:?}");
        }
    }
}
