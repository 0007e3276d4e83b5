//! Everything that machines are put together from: kernels, programs, and what runs them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use bpf_build::workspace;

use super::accelerator::Accelerator;
use super::initrd;
use super::kernel::Kernel;
use super::machine::{self, Machine};
use super::programs::{self, Program};
use super::ring::Ring;
use crate::tools::{Missing, Tool, Tools, asked, tool};

/// Everything but the kernels, which are never installed.
const TOOLS: [Tool; 12] = [
    tool("qemu-system-x86_64", "qemu-system-x86"),
    asked("busybox", "busybox-static", "true"),
    asked("ip", "iproute2", "-V"),
    tool("nsenter", "util-linux"),
    tool("setpriv", "util-linux"),
    tool("timeout", "coreutils"),
    tool("xz", "xz-utils"),
    tool("dpkg", "dpkg"),
    asked("bpftool", "bpftool", "version"),
    tool("strace", "strace"),
    asked("tc", "iproute2", "-V"),
    tool("unshare", "util-linux"),
];

/// What stories call that stand outside of guests.
const OUTSIDE: [Tool; 4] = [
    asked("mkfs.ext4", "e2fsprogs", "-V"),
    asked("ip", "iproute2", "-V"),
    tool("nsenter", "util-linux"),
    tool("setpriv", "util-linux"),
];

/// Built, fetched and found.
pub struct Bench {
    pub kernels: Vec<Kernel>,
    pub accelerator: Accelerator,
    tools: Tools,
    programs: Vec<Program>,
    directory: PathBuf,
}

impl Bench {
    /// Provides what these rings need on these kernels.
    pub fn prepare(rings: &[Ring], series: &[&str]) -> Result<Self> {
        let tools = Tools::provide(&TOOLS)?;
        let directory = workspace::target()?.join("vm");
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let programs = programs::build(rings)?;
        let kernels = series.iter().map(|series| Kernel::provide(series, &directory.join("kernels")));
        let kernels = kernels.collect::<Result<Vec<_>>>()?;
        let accelerator =
            Accelerator::find(kernels.first().context("there is no kernel")?, &tools, &directory)?;
        Ok(Self { kernels, accelerator, tools, programs, directory })
    }

    /// A machine that does what `plan` says. Its name tells it apart from others with the same kernel.
    pub fn machine<'a>(&self, kernel: &'a Kernel, name: &str, plan: &str) -> Result<Machine<'a>> {
        let name = format!("{}.{name}", kernel.series);
        let tree = self.directory.join(format!("{name}.tree"));
        let initrd = initrd::build(tree, kernel, &self.programs, &self.tools, plan)?;
        let log = self.directory.join(format!("{name}.log"));
        let qemu = self.tools.file(machine::QEMU)?;
        Ok(Machine { qemu, kernel, initrd, accelerator: self.accelerator, log })
    }

    /// What the stories that stand outside call.
    pub fn outside(&self) -> Result<Tools, Missing> {
        Tools::provide(&OUTSIDE)
    }

    /// The test program of a ring.
    pub fn program(&self, ring: Ring) -> &Program {
        let found = self.programs.iter().find(|program| program.name == ring.program());
        found.expect("all rings that were asked for were built")
    }
}
