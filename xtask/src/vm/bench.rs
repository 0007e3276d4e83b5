//! Everything that machines are put together from: kernels, programs, and what runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use bpf_build::{process, workspace};

use super::accelerator::Accelerator;
use super::board::Board;
use super::foreign::Foreign;
use super::initrd::{self, Furniture};
use super::kernel::{Kernel, processor_of};
use super::machine::Machine;
use super::plan::Step;
use super::programs::{self, Program};
use super::ring::Ring;
use crate::processor::Processor;
use crate::tools::{Missing, Tool, Tools, asked, tool};

/// Everything but QEMU and the kernels, which are never installed. Guests of another processor have others than busybox.
const TOOLS: [Tool; 12] = [
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
    asked("wg", "wireguard-tools", "--version"),
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
    board: &'static Board,
    qemu: Tools,
    tools: Tools,
    /// What guests of another processor than this machine's call.
    foreign: Option<Foreign>,
    programs: Vec<Program>,
    directory: PathBuf,
}

impl Bench {
    /// Provides what these rings need on these kernels.
    pub fn prepare(rings: &[Ring], series: &[&str], daemon: Option<&Path>) -> Result<Self> {
        let processor = processor_of(series.first().context("there is no kernel")?);
        let is_same = series.iter().all(|series| processor_of(series) == processor);
        ensure!(is_same, "these kernels are for different processors\n       try one kind at a time");
        let board = Board::of(processor);
        let (qemu, tools) = (Tools::provide(&[board.tool()])?, Tools::provide(&TOOLS)?);
        let is_foreign = processor != Processor::Amd64;
        let foreign = is_foreign.then(|| Foreign::provide(processor)).transpose()?;
        let directory = workspace::target()?.join("vm");
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let programs = programs::build(rings, processor, daemon)?;
        let kernels = series.iter().map(|series| Kernel::provide(series, &directory.join("kernels")));
        let kernels = kernels.collect::<Result<Vec<_>>>()?;
        let accelerator =
            Accelerator::find(kernels.first().context("there is no kernel")?, &qemu, &directory)?;
        Ok(Self { kernels, accelerator, board, qemu, tools, foreign, programs, directory })
    }

    /// A machine that does what `plan` says. Its name tells it apart from others with the same kernel.
    pub fn machine<'a>(&self, kernel: &'a Kernel, name: &str, plan: &str) -> Result<Machine<'a>> {
        let name = format!("{}.{name}", kernel.series);
        let tree = self.directory.join(format!("{name}.tree"));
        let furniture = Furniture { tools: &self.tools, foreign: self.foreign.as_ref() };
        let initrd = initrd::build(tree, kernel, &self.programs, &furniture, plan)?;
        let log = self.directory.join(format!("{name}.log"));
        let qemu = self.qemu.file(self.board.qemu)?;
        Ok(Machine { qemu, kernel, initrd, accelerator: self.accelerator, log })
    }

    /// The tests of a step, in the order in which its program runs them.
    pub fn list(&self, step: &Step) -> Result<Vec<String>> {
        let mut command = Command::new(&self.program(step.stage.ring()).file);
        command.args(["--list", "--format", "terse"]).args(&step.words).stdin(Stdio::null());
        let told = process::output(&mut command)?;
        Ok(told.lines().filter_map(|line| Some(line.strip_suffix(": test")?.to_owned())).collect())
    }

    /// What the tests that stand outside call.
    pub fn outside(&self) -> Result<Tools, Missing> {
        Tools::provide(&OUTSIDE)
    }

    /// The test program of a ring.
    pub fn program(&self, ring: Ring) -> &Program {
        let found = self.programs.iter().find(|program| program.name == ring.program());
        found.expect("all rings that were asked for were built")
    }
}
