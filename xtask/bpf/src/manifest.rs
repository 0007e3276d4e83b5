//! What objects are compiled from, and with: a line for each thing, and a hash.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{lock, process, workspace};

const HEAD: &str =
    "# What the BPF objects beside this are compiled with and from. `cargo xtask objects` writes all of it.";

/// What makes them another way is another source.
const SOURCES_OF_ALL: [&str; 5] = [
    "filter-common/Cargo.toml",
    "filter-ebpf/Cargo.toml",
    "xtask/bpf/src/btf.rs",
    "xtask/bpf/src/embedded.rs",
    "xtask/bpf/src/recipe.rs",
];

/// What they are made of, and what writes them.
const PACKAGES: [&str; 2] = ["filter-ebpf", "object"];

/// What objects are compiled from, and with.
#[derive(Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The compiler and the linker.
    pub with: Vec<String>,
    /// Each crate, source and object, with its hash.
    parts: BTreeMap<String, String>,
}

impl Manifest {
    /// As the tree is now. All paths are seen from its top.
    pub fn of(with: &[String], sources: &BTreeSet<String>, objects: &[String]) -> Result<Self> {
        let sources = sources.iter().map(String::as_str).chain(SOURCES_OF_ALL);
        let files =
            sources.map(|file| ("source", file)).chain(objects.iter().map(|file| ("object", file.as_str())));
        let mut parts = crates()?;
        parts.extend(hashes(files)?);
        Ok(Self { with: with.to_owned(), parts })
    }

    /// Reads what was written.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self::parse(&text))
    }

    /// Writes it for whoever looks, and for `read`.
    pub fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, self.text()).with_context(|| format!("cannot write {}", path.display()))
    }

    /// What of the tree is not what it says.
    pub fn changed(&self) -> Result<Vec<String>> {
        let files =
            self.parts.keys().filter_map(|part| part.split_once(' ')).filter(|&(kind, _)| kind != "crate");
        let there = files.filter(|(_, file)| workspace::root().join(file).exists());
        let mut now = crates()?;
        now.extend(hashes(there)?);
        let parts: BTreeSet<_> = self.parts.keys().chain(now.keys()).collect();
        let changed = parts.into_iter().filter(|&part| self.parts.get(part) != now.get(part));
        Ok(changed.cloned().collect())
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let (with, parts): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("with "));
        let parts = parts.into_iter().filter_map(|line| line.rsplit_once(' '));
        Self {
            with: with.into_iter().map(|line| line.trim_start_matches("with ").to_owned()).collect(),
            parts: parts.map(|(part, hash)| (part.to_owned(), hash.to_owned())).collect(),
        }
    }

    fn text(&self) -> String {
        let with = self.with.iter().map(|with| format!("with {with}"));
        let parts = self.parts.iter().map(|(part, hash)| format!("{part} {hash}"));
        [HEAD.to_owned()].into_iter().chain(with).chain(parts).map(|line| line + "\n").collect()
    }
}

fn crates() -> Result<BTreeMap<String, String>> {
    let lock = fs::read_to_string(workspace::root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let crates = lock::below(&lock, &PACKAGES).into_iter();
    Ok(crates.map(|(name, checksum)| (format!("crate {name}"), checksum)).collect())
}

/// Every machine has a program for this; a crate more would be built before the daemon.
fn hashes<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Result<BTreeMap<String, String>> {
    let files: Vec<_> = files.collect();
    let mut sum = Command::new("sha256sum");
    sum.arg("--").args(files.iter().map(|(_, file)| file)).current_dir(workspace::root());
    let told = process::output(&mut sum)?;
    let hashes = told.lines().filter_map(|line| line.split_once(' ')).map(|(hash, _)| hash.to_owned());
    Ok(files.iter().map(|(kind, file)| format!("{kind} {file}")).zip(hashes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Manifest {
        let with = ["rustc 1.0.0 (a commit), LLVM 1.2.3".to_owned()];
        Manifest::of(&with, &["filter-common/src/lib.rs".to_owned()].into(), &["README.md".to_owned()])
            .unwrap()
    }

    #[test]
    fn manifest_round_trips() {
        assert_eq!(Manifest::parse(&some().text()), some());
    }

    #[test]
    fn untouched_inputs_are_unchanged() {
        assert_eq!(some().changed().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn changed_missing_and_new_inputs_are_changes() {
        let mut manifest = some();
        let parts = &mut manifest.parts;
        *parts.get_mut("source filter-common/src/lib.rs").unwrap() = "0".repeat(64);
        parts.insert("source filter-common/src/gone.rs".to_owned(), "0".repeat(64));
        let one = parts.keys().find(|part| part.starts_with("crate aya-ebpf ")).unwrap().clone();
        parts.remove(&one);
        let changed = manifest.changed().unwrap();
        assert_eq!(
            changed,
            [one.as_str(), "source filter-common/src/gone.rs", "source filter-common/src/lib.rs"]
        );
    }
}
