//! The work tree: where it lies, where its builds go, and its own cargo.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// What cargo leaves in a directory that it builds in. The first only where it made the directory itself.
const MARKS: [&str; 2] = ["CACHEDIR.TAG", ".rustc_info.json"];

/// The top of the work tree.
pub fn root() -> PathBuf {
    // Cargo tells this to what it runs; what was compiled in may be a tree that has moved since.
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let mut above = Path::new(&package).ancestors();
    let root = above.find(|directory| directory.join("Cargo.lock").exists());
    root.expect("every package lies in the work tree").to_owned()
}

/// The cargo that started us, in the work tree.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// The directory that cargo builds in, whatever set it: this very program was built there.
pub fn target() -> Result<PathBuf> {
    let program = this_program()?;
    let is_marked = |directory: &&Path| MARKS.iter().any(|mark| directory.join(mark).exists());
    let marked = program.ancestors().find(is_marked);
    Ok(marked.map_or_else(|| root().join("target"), Path::to_owned))
}

/// Where a build of the daemon lies. `profile` is a directory's name: `release` or `debug`.
pub fn daemon(profile: &str) -> Result<PathBuf> {
    let program = this_program()?;
    let profiles = program.ancestors().nth(2).context("this program lies in no build directory")?;
    Ok(profiles.join(profile).join("filterd"))
}

/// Where this user keeps what takes long to fetch or to build, beside all work trees.
pub fn cache() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(env::home_dir()?.join(".cache")))?;
    Some(cache.join("filterd"))
}

/// Where cargo keeps what it fetches and installs.
pub fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")))
}

/// Where cargo unpacks crates: a directory for each way to a registry, named after it.
pub fn registries() -> impl Iterator<Item = PathBuf> {
    let unpacked = cargo_home().and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    unpacked.into_iter().flatten().flatten().map(|registry| registry.path())
}

fn this_program() -> Result<PathBuf> {
    env::current_exe().context("cannot tell where this program lies")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_work_tree() {
        assert!(root().join("Cargo.lock").exists());
    }

    #[test]
    fn builds_go_where_this_test_was_built() {
        let test = env::current_exe().unwrap();
        assert!(test.starts_with(target().unwrap()));
    }
}
