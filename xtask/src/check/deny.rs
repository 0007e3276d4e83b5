//! What crates all of this is made of: cargo-deny's bans, licences and sources, by `deny.toml`. What is known of holes in them is
//! another thing each day, so only a release asks for that.

use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use crate::tools::python;

const DENY: &str = include_str!("../tools/python/cargo-deny.txt");

pub fn complain() -> Result<()> {
    let python = python::with("cargo-deny", DENY)?;
    let mut deny = Command::new(python.with_file_name("cargo-deny"));
    deny.args(["--locked", "--log-level", "error", "check", "bans", "licenses", "sources"]);
    process::run(deny.current_dir(workspace::root()))
        .context("cargo-deny is not content\n       try deny.toml: what crates are taken, and whence")
}
