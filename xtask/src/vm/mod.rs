//! `vm`: the rings of stories on other kernels than this machine's, each booted in a virtual machine of its own.

mod accelerator;
mod guest;
mod initrd;
mod kernel;
mod log;
mod machine;
mod programs;
mod results;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use xtask::{debian, workspace};

use accelerator::Accelerator;
use guest::Stage;
use kernel::Kernel;
use machine::Machine;
use results::Results;

/// The kernels that filterd is tested on: the oldest it runs on, and the newest that Debian 12 offers.
const TESTED: [&str; 2] = ["6.1", "6.12"];

/// Everything but the kernels, which are never installed.
const TOOLS: [debian::Tool; 6] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("xz", "xz-utils"),
    ("dpkg", "dpkg"),
];

/// What to boot, and what to do there.
#[derive(Debug, Args)]
pub struct Vm {
    /// Kernels, as in 6.1; without any, all that filterd is tested on
    kernels: Vec<String>,
    /// Give a prompt in the first of them instead of running tests; Ctrl-A X ends it
    #[arg(long, conflicts_with_all = ["ring", "filter"])]
    shell: bool,
    /// Run these rings only
    #[arg(long, value_enum)]
    ring: Vec<Ring>,
    /// A boot that takes more seconds than this hangs
    #[arg(long, default_value_t = 1200, value_name = "SECONDS")]
    limit: u64,
    /// For the test programs themselves, after `--`: names to choose, or flags
    #[arg(last = true)]
    filter: Vec<OsString>,
}

/// The rings that need a kernel, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Ring {
    /// The BPF programs on crafted frames, in the kernel
    Program,
    /// A running daemon between network namespaces
    Network,
    /// Every combination of settings before the verifier, without CAP_PERFMON: what does it mind?
    WithoutPerfmon,
    /// The same with it, and again under lockdown, which nothing lifts
    Verifier,
}

impl Vm {
    /// Boots one kernel after the other and prints what became of each test.
    pub fn run(&self) -> Result<ExitCode> {
        debian::provide(&TOOLS)?;
        let directory = workspace::target()?.join("vm");
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let programs = programs::build(&self.rings())?;
        let kernels = self.series().map(|series| Kernel::provide(series, &directory.join("kernels")));
        let kernels = kernels.collect::<Result<Vec<_>>>()?;
        let accelerator = Accelerator::find(&kernels[0], &directory)?;
        let initrds = kernels.iter().map(|kernel| initrd::build(&directory, kernel, &programs, &self.plan()));
        let initrds = initrds.collect::<Result<Vec<_>>>()?;
        let mut machines = kernels.iter().zip(initrds).map(|(kernel, initrd)| Machine {
            kernel,
            initrd,
            accelerator,
            log: directory.join(format!("{}.log", kernel.series)),
        });
        if self.shell {
            return machines.next().context("there is no kernel")?.shell();
        }
        self.test(machines)
    }

    fn test<'a>(&self, machines: impl Iterator<Item = Machine<'a>>) -> Result<ExitCode> {
        let mut results = Results::default();
        for machine in machines {
            println!("\n== Linux {} ({})", machine.kernel.release, machine.accelerator);
            results.add(machine.run(Duration::from_secs(self.limit))?);
        }
        println!("\n{results}");
        Ok(if results.are_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn series(&self) -> impl Iterator<Item = &str> {
        let named = self.kernels.iter().map(String::as_str);
        named.chain(TESTED.into_iter().filter(|_| self.kernels.is_empty()))
    }

    fn rings(&self) -> Vec<Ring> {
        if self.ring.is_empty() {
            return vec![Ring::Program, Ring::Network, Ring::Verifier];
        }
        let mut rings = self.ring.clone();
        rings.sort_unstable();
        rings.dedup();
        rings
    }

    /// What the guest reads and does, a line a stage.
    fn plan(&self) -> String {
        if self.shell {
            return "shell\n".to_owned();
        }
        let words: Vec<_> = self.filter.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let stages = self.rings().into_iter().flat_map(Stage::of);
        stages.map(|stage| format!("{stage} {}\n", words.join(" "))).collect()
    }
}

/// Where a stage's program lies in the guest.
fn in_guest(program: &str) -> PathBuf {
    PathBuf::from("opt").join(program)
}
