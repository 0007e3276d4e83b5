//! `dist`: what is given to others. The same commit gives the same bytes wherever it is built by the same tools; only the
//! signature is another each time.

mod bill;
mod deb;
mod pack;
mod places;
#[cfg(test)]
mod rehearsal;
mod sign;
mod staged;
pub mod twice;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bpf_build::{process, workspace};
use clap::Args;

use crate::build;
use crate::cross::Builder;
use crate::processor::Processor;

/// What is about to be given away.
pub struct Release {
    pub version: String,
    /// When the commit was made: no other time is in what is packed.
    pub seconds: u64,
    pub commit: String,
    /// Where it goes.
    pub directory: PathBuf,
}

/// Whom to pack for: this machine's processor, or others that it can build for.
#[derive(Debug, Args)]
pub struct Dist {
    /// For this processor, and not for this machine's; more than once for more
    #[arg(long, value_enum, value_name = "PROCESSOR")]
    arch: Vec<Processor>,
}

impl Dist {
    /// Builds the binaries, packs them in all forms, and tells where they lie.
    pub fn make(self) -> Result<PathBuf> {
        must_be_committed()?;
        let release = Release::of_this_tree()?;
        let builders = self.processors()?.into_iter().map(Builder::of).collect::<Result<Vec<_>>>()?;
        release.clear()?;
        let binaries = builders.iter().map(|builder| Ok((builder.processor, binary(builder)?)));
        let binaries = binaries.collect::<Result<BTreeMap<_, _>>>()?;
        // Building takes minutes, in which somebody may have gone on working.
        must_be_committed()?;
        ensure!(commit()? == release.commit, "another commit was checked out meanwhile\n       try again");
        for (processor, binary) in &binaries {
            pack::binary(&release, *processor, binary)?;
            deb::make(&release, *processor, binary)?;
        }
        pack::source(&release)?;
        bill::write(&release, binaries.keys().copied())?;
        sign::sums(&release)?;
        Ok(release.directory)
    }

    fn processors(self) -> Result<Vec<Processor>> {
        if !self.arch.is_empty() {
            return Ok(self.arch);
        }
        let here = Processor::of_this_machine();
        Ok(vec![here.context("nothing is given away for machines of this kind")?])
    }
}

/// The package alone, of the tree as it is, for stories about it.
pub fn package(processor: Processor) -> Result<PathBuf> {
    let mut release = Release::of_this_tree()?;
    release.directory = workspace::target()?.join("package").join(processor.debian());
    release.clear()?;
    deb::make(&release, processor, &binary(&Builder::of(processor)?)?)
}

/// The binary that is packed for this machine's processor.
pub fn own_binary() -> Result<PathBuf> {
    let processor = Processor::of_this_machine().context("nothing is packed for machines of this kind")?;
    binary(&Builder::of(processor)?)
}

/// What is built with it is told nothing of where.
pub fn remapped(builder: &Builder) -> Result<Vec<(&'static str, String)>> {
    places::remapped(builder)
}

fn binary(builder: &Builder) -> Result<PathBuf> {
    let binary = build::to_give_away(builder, &remapped(builder)?)?;
    places::must_be_nobodys(&binary, builder)?;
    Ok(binary)
}

impl Release {
    fn of_this_tree() -> Result<Self> {
        let time = process::output(git().args(["log", "-1", "--format=%ct"]))?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seconds: time.trim().parse().context("git tells no time")?,
            commit: commit()?,
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
