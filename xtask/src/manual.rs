//! `manual`: writes docs/man and configs/completions anew, by the tests that hold them to the definitions.

use anyhow::{Context, Result};
use bpf_build::{compiled, process, workspace};

/// Writes the pages.
pub fn write() -> Result<()> {
    compiled::provide()?;
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--quiet", "--package", "filter-daemon", "--lib", "cli::manual"]);
    process::run(cargo.env("FILTERD_MANUAL", "write"))
        .context("cannot write docs/man and configs/completions")
}
