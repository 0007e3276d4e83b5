//! `dist`: what is given to others. The same commit gives the same bytes wherever it is built by the same tools; only the
//! signature is another each time.

mod bill;
mod deb;
mod pack;
mod places;
mod sign;
mod staged;
pub mod twice;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bpf_build::{process, workspace};

use crate::build;

/// What Debian calls a machine of this kind, and what Rust does.
const MACHINES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];

/// What is about to be given away.
pub struct Release {
    pub version: String,
    /// When the commit was made: no other time is in what is packed.
    pub seconds: u64,
    pub commit: String,
    /// As Rust calls the machine, and as Debian does.
    pub machine: (&'static str, &'static str),
    /// Where it goes.
    pub directory: PathBuf,
}

/// Builds the binary, packs it in all forms, and tells where they lie.
pub fn make() -> Result<PathBuf> {
    must_be_committed()?;
    let release = Release::of_this_tree()?;
    release.clear()?;
    let binary = build::to_give_away(&places::remapped()?)?;
    places::must_be_nobodys(&binary)?;
    // Building takes minutes, in which somebody may have gone on working.
    must_be_committed()?;
    ensure!(commit()? == release.commit, "another commit was checked out meanwhile\n       try again");
    pack::binary(&release, &binary)?;
    pack::source(&release)?;
    deb::make(&release, &binary)?;
    bill::write(&release)?;
    sign::sums(&release)?;
    Ok(release.directory)
}

/// The package alone, of the tree as it is, for stories about it.
pub fn package() -> Result<PathBuf> {
    let mut release = Release::of_this_tree()?;
    release.directory = workspace::target()?.join("package");
    release.clear()?;
    let binary = build::to_give_away(&places::remapped()?)?;
    deb::make(&release, &binary)
}

impl Release {
    fn of_this_tree() -> Result<Self> {
        let time = process::output(git().args(["log", "-1", "--format=%ct"]))?;
        let machine = MACHINES.into_iter().find(|(rust, _)| *rust == env::consts::ARCH);
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seconds: time.trim().parse().context("git tells no time")?,
            commit: commit()?,
            machine: machine.context("nothing is given away for machines of this kind")?,
            directory: workspace::target()?.join("dist"),
        })
    }

    /// A file of it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Where something is laid out before it is packed.
    pub fn stage(&self, what: &str) -> PathBuf {
        self.directory.join("stage").join(what)
    }

    fn clear(&self) -> Result<()> {
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)
                .with_context(|| format!("cannot remove {}", self.directory.display()))?;
        }
        make_directory(&self.directory)
    }
}

/// Else the source archive would be of something else than the binary.
fn must_be_committed() -> Result<()> {
    let changed = process::output(git().args(["status", "--porcelain", "--untracked-files=no"]))?;
    ensure!(
        changed.is_empty(),
        "what is given away is of a commit, and these files are not as they were committed:\n{changed}       try `git stash`"
    );
    Ok(())
}

fn commit() -> Result<String> {
    process::output(git().args(["rev-parse", "HEAD"]))
}

fn git() -> Command {
    let mut git = Command::new("git");
    git.current_dir(workspace::root());
    git
}

fn make_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}
