//! `demo`: builds filterd as fast as it can be built, which is not as fast as it can run, and becomes the demo of tests/demo.

use std::os::unix::process::CommandExt;

use anyhow::{Error, Result, ensure};
use bpf_build::{process, workspace};

use crate::build::{self, Profile};
use crate::tools::{Tool, Tools, asked, tool};

/// What the demo calls.
const TOOLS: [Tool; 4] = [
    asked("ip", "iproute2", "-V"),
    tool("nsenter", "util-linux"),
    tool("setpriv", "util-linux"),
    asked("ping", "iputils-ping", "-V"),
];

/// Comes back only with an error.
pub fn show() -> Result<()> {
    ensure!(
        process::is_root(),
        "the demo makes network namespaces, which needs root\n       try: sudo env \"PATH=$PATH\" \"HOME=$HOME\" cargo xtask demo"
    );
    let tools = Tools::provide(&TOOLS)?;
    let daemon = build::daemon(Profile::Debug)?;
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--package", "filterd-tests", "--example", "demo"]);
    let error = tools.equip(&mut cargo).env("FILTERD_BIN", daemon).exec();
    Err(Error::new(error).context("cannot start the demo"))
}
