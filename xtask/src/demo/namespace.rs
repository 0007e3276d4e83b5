//! A network namespace of one's own, removed with all that is in it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use bpf_build::process;

/// Where `ip netns` keeps them.
pub const NAMED: &str = "/run/netns";

/// Removed when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    pub fn new(name: String) -> Result<Self> {
        process::run_quietly(Command::new("ip").args(["netns", "add", &name]))?;
        Ok(Self { name })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip` with these words in it.
    pub fn ip(&self, words: &str) -> Result<()> {
        process::run_quietly(Command::new("ip").args(["-n", &self.name]).args(words.split(' ')))
    }

    /// A command that will run in it. Not by `ip netns exec`, whose /sys has no pinned maps.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={NAMED}/{}", self.name)).arg("--").arg(program.as_ref());
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Removes one by name, and tells where that fails.
pub fn remove(name: &str) {
    if let Err(error) = process::run_quietly(Command::new("ip").args(["netns", "delete", name])) {
        eprintln!("xtask: {error:#}\n       try: ip netns delete {name}");
    }
}
