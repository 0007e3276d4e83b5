//! Python with packages from PyPI, in an environment of its own in the cache: nothing of this machine's Python is changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bpf_build::{process, workspace};

use super::package;

/// A package of PyPI's, in the one version that is known to do.
#[derive(Debug)]
pub struct Package {
    pub name: &'static str,
    pub version: &'static str,
}

/// The Python of an environment of this name that has these packages, which is made unless it is there.
pub fn with(name: &str, packages: &[Package]) -> Result<PathBuf> {
    let cache = workspace::cache().context("there is no cache: HOME is not set")?;
    let root = cache.join("tools").join(name);
    let _alone = package::lock(&root)?;
    let python = root.join("bin/python3");
    if !has(&python, packages) {
        make(&root, packages)?;
        ensure!(has(&python, packages), "{} has not the packages that it was made with", root.display());
    }
    Ok(python)
}

/// Does it have them in these very versions?
fn has(python: &Path, packages: &[Package]) -> bool {
    let version = |package: &Package| {
        let ask = format!("import importlib.metadata as m; print(m.version('{}'))", package.name);
        process::output(Command::new(python).args(["-c", &ask])).ok()
    };
    packages.iter().all(|package| version(package).is_some_and(|told| told.trim() == package.version))
}

/// What is there may be half an environment, or one of another Python.
fn make(root: &Path, packages: &[Package]) -> Result<()> {
    eprintln!("{} is made: nothing is installed", root.display());
    if root.exists() {
        fs::remove_dir_all(root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    process::run_quietly(Command::new("python3").args(["-m", "venv"]).arg(root))
        .context("Python cannot make an environment\n       try `apt install python3-venv`")?;
    let mut pip = Command::new(root.join("bin/python3"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(packages.iter().map(|package| format!("{}=={}", package.name, package.version)));
    process::run_quietly(&mut pip).context("pip cannot fetch its packages")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_that_is_not_there_has_nothing() {
        let package = Package { name: "z3-solver", version: "1" };
        assert!(!has(Path::new("/nonexistent/python3"), &[package]));
    }

    #[test]
    fn another_version_does_not_do() {
        let Some(python) = process::find("python3") else { return };
        assert!(!has(&python, &[Package { name: "pip", version: "no version" }]));
    }
}
