//! KVM where it works, else QEMU's own interpreter.

use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::board::Board;
use super::kernel::{Kernel, processor_of};
use super::machine;
use crate::processor::Processor;
use crate::tools::Tools;

/// What runs a guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor.
    Kvm,
    /// QEMU, some twenty times slower.
    Tcg,
}

/// With KVM a kernel speaks within a second. A nested one may take KVM and then stand still.
const PATIENCE: Duration = Duration::from_secs(6);

impl Accelerator {
    /// Tries KVM by letting it begin to boot a kernel, if that is for this machine's processor.
    pub fn find(kernel: &Kernel, tools: &Tools, directory: &Path) -> Result<Self> {
        if Some(processor_of(&kernel.series)) != Processor::of_this_machine() {
            return Ok(Self::Tcg);
        }
        let may = File::options().read(true).write(true).open("/dev/kvm").is_ok();
        Ok(if may && speaks(kernel, tools, &directory.join("kvm.log"))? { Self::Kvm } else { Self::Tcg })
    }

    /// For QEMU.
    pub fn arguments(self, board: &Board) -> [&'static str; 6] {
        match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host", "-smp", "2"],
            // Several threads once made a guest panic: stores to program text were seen too late.
            Self::Tcg => ["-accel", "tcg,thread=single", "-cpu", board.interpreted, "-smp", "1"],
        }
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "KVM",
            Self::Tcg => "TCG: KVM does not work here",
        })
    }
}

fn speaks(kernel: &Kernel, tools: &Tools, log: &Path) -> Result<bool> {
    fs::write(log, "").with_context(|| format!("cannot write {}", log.display()))?;
    let mut qemu = machine::qemu(&tools.file(kernel.board().qemu)?, kernel, Accelerator::Kvm);
    let qemu = qemu.arg("-serial").arg(format!("file:{}", log.display()));
    let qemu = qemu.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut qemu = qemu.spawn().context("cannot start QEMU")?;
    let begun = Instant::now();
    let has_spoken = || fs::read_to_string(log).is_ok_and(|text| text.contains("Linux version"));
    while begun.elapsed() < PATIENCE && !has_spoken() && qemu.try_wait()?.is_none() {
        thread::sleep(Duration::from_millis(50));
    }
    let spoken = has_spoken();
    let _ = qemu.kill();
    qemu.wait().context("cannot wait for QEMU")?;
    Ok(spoken)
}
