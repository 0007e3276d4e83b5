//! Everything that machines are put together from: kernels, programs, and what runs them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use xtask::{debian, workspace};

use super::accelerator::Accelerator;
use super::initrd;
use super::kernel::Kernel;
use super::machine::Machine;
use super::programs::{self, Program};
use super::ring::Ring;

/// Everything but the kernels, which are never installed.
const TOOLS: [debian::Tool; 9] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("xz", "xz-utils"),
    ("dpkg", "dpkg"),
    ("mkfs.ext4", "e2fsprogs"),
    ("bpftool", "bpftool"),
    ("strace", "strace"),
];

/// Built, fetched and found.
pub struct Bench {
    pub kernels: Vec<Kernel>,
    pub accelerator: Accelerator,
    programs: Vec<Program>,
    directory: PathBuf,
}

impl Bench {
    /// Provides what these rings need on these kernels.
    pub fn prepare(rings: &[Ring], series: &[&str]) -> Result<Self> {
        debian::provide(&TOOLS)?;
        let directory = workspace::target()?.join("vm");
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let programs = programs::build(rings)?;
        let kernels = series.iter().map(|series| Kernel::provide(series, &directory.join("kernels")));
        let kernels = kernels.collect::<Result<Vec<_>>>()?;
        let accelerator = Accelerator::find(kernels.first().context("there is no kernel")?, &directory)?;
        Ok(Self { kernels, accelerator, programs, directory })
    }

    /// A machine that does what `plan` says. Its name tells it apart from others with the same kernel.
    pub fn machine<'a>(&self, kernel: &'a Kernel, name: &str, plan: &str) -> Result<Machine<'a>> {
        let name = format!("{}.{name}", kernel.series);
        let tree = self.directory.join(format!("{name}.tree"));
        let initrd = initrd::build(tree, kernel, &self.programs, plan)?;
        let log = self.directory.join(format!("{name}.log"));
        Ok(Machine { kernel, initrd, accelerator: self.accelerator, log })
    }

    /// The test program of a ring.
    pub fn program(&self, ring: Ring) -> &Program {
        let found = self.programs.iter().find(|program| program.name == ring.program());
        found.expect("all rings that were asked for were built")
    }
}
