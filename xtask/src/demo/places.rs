//! The places of the demo's filterd, all its own: nothing of an installed one is read or written.

use std::env;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::process;
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

const BPFFS: &str = "/sys/fs/bpf";

/// Removed when dropped.
#[derive(Debug)]
pub struct Places {
    files: PathBuf,
    pins: PathBuf,
}

impl Places {
    pub fn new(name: &str) -> Result<Self> {
        mount_bpffs()?;
        let places = Self { files: files().join(name), pins: pins().join(name) };
        let made = fs::DirBuilder::new().mode(0o700).create(&places.files);
        made.with_context(|| format!("cannot make {}", places.files.display()))?;
        fs::write(places.config(), "enforce: true\n")
            .context("cannot write the configuration of the demo")?;
        Ok(places)
    }

    pub fn socket(&self) -> PathBuf {
        self.files.join("control.sock")
    }

    pub fn state(&self) -> PathBuf {
        self.files.join("state")
    }

    pub fn config(&self) -> PathBuf {
        self.files.join("filterd.yaml")
    }

    pub fn log(&self) -> PathBuf {
        self.files.join("log")
    }

    pub fn pins(&self) -> &Path {
        &self.pins
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        remove(&self.files);
        remove(&self.pins);
    }
}

/// Where the files of all demos lie.
pub fn files() -> PathBuf {
    env::temp_dir()
}

/// Where the pins of all demos lie.
pub fn pins() -> PathBuf {
    BPFFS.into()
}

/// Removes a directory with all that is in it, and tells where that fails.
pub fn remove(directory: &Path) {
    let removed = if directory.exists() { fs::remove_dir_all(directory) } else { Ok(()) };
    if let Err(error) = removed {
        eprintln!("xtask: cannot remove {}: {error}", directory.display());
    }
}

fn mount_bpffs() -> Result<()> {
    let is_mounted = statfs(BPFFS).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC);
    if is_mounted {
        return Ok(());
    }
    let mount = process::run_quietly(Command::new("mount").args(["-t", "bpf", "bpf", BPFFS]));
    mount.with_context(|| format!("cannot mount the BPF file system on {BPFFS}"))
}
