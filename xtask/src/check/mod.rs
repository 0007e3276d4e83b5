//! `check`: what must hold of the source before anybody reads it.

mod dependencies;
mod imports;
mod rooms;
mod source;

use anyhow::{Context, Result, bail};
use bpf_build::{ebpf, process, toolchain, workspace};

/// All of it, the quick ones first.
pub fn all() -> Result<()> {
    houses_rules()?;
    format()?;
    ebpf::lint(&toolchain::ensure()?)?;
    lints()?;
    println!("check: all is in order");
    Ok(())
}

/// Who imports whom, and where unsafe code lies: all complaints at once.
fn houses_rules() -> Result<()> {
    let files = source::files(&workspace::root())?;
    let complaints = [imports::complaints(&files)?, rooms::complaints(&files)].concat();
    if complaints.is_empty() {
        return Ok(());
    }
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    bail!(
        "{} against the rules of the house\n       try ARCHITECTURE.md: who may import whom, and the unsafe rooms",
        complaints.len()
    )
}

fn format() -> Result<()> {
    let mut fmt = workspace::cargo();
    fmt.args(["fmt", "--all", "--check"]);
    process::run(&mut fmt).context("the format is not rustfmt's: `cargo fmt --all` mends it")
}

fn lints() -> Result<()> {
    let mut clippy = workspace::cargo();
    clippy.args(["clippy", "--workspace", "--exclude", "filter-ebpf", "--all-targets", "--", "-Dwarnings"]);
    process::run(&mut clippy).context("clippy is not content")
}
