//! How the judge reads words that the daemon changes meanwhile, in the object as the compiler left it.
//!
//! Each word is read by one load of 64 bits, on every way through the program, and what is loaded is kept: no bucket is
//! read in two parts or twice. First homes come before second ones, then the stash's hot word, then its ways:
//! entries that move on at once rely on that (the second rule of filter-daemon/src/kernel/live.rs).

mod instruction;
mod walk;

use std::fs;

use anyhow::{Context, Result, bail};
use bpf_build::ebpf;
use bpf_build::toolchain::Toolchain;

use instruction::Instruction;

/// Builds the judge and holds it to that.
pub fn check(toolchain: &Toolchain) -> Result<()> {
    let object = ebpf::build(toolchain)?.join("judge");
    let bytes = fs::read(&object).with_context(|| format!("cannot read {}", object.display()))?;
    let complaints = walk::complaints(&Instruction::all(&bytes)?);
    if complaints.is_empty() {
        return Ok(());
    }
    complaints.iter().for_each(|complaint| eprintln!("{}: {complaint}", object.display()));
    bail!(
        "the judge does not load words as it must\n       try ARCHITECTURE.md: moving under running readers"
    )
}
