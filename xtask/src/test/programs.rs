//! Builds everything that is tested, once and in one profile: units, test programs and the daemon under test.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use bpf_build::{compiled, process, workspace};

use super::layer::Layer;
use super::runner::Program;
use crate::build::Profile;

/// The package of the test programs. All other packages hold units.
const TESTS: &str = "filterd-tests";

/// What is built together. Cargo compiles a crate again where other packages want other features of it, so the packages of
/// xtask, which is built already, are apart from those of the daemon.
const PACKAGES: [&[&str]; 2] =
    [&["filter-common", "filter-daemon", "filterd-real", "filterd-paper", TESTS], &["bpf-build", "xtask"]];

/// Which BPF objects the tests are linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objects {
    /// Those that come with the source, if they are of it.
    Committed,
    Fresh,
}

/// What cargo built.
#[derive(Debug)]
pub struct Programs(Vec<Built>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Built {
    target: String,
    /// Where its package lies.
    directory: PathBuf,
    file: PathBuf,
    is_in_tests: bool,
}

impl Programs {
    /// Builds all of them in the profile of tests.
    pub fn build(objects: Objects) -> Result<Self> {
        Self::build_as(Profile::Debug, objects)
    }

    pub fn build_as(profile: Profile, objects: Objects) -> Result<Self> {
        compiled::provide()?;
        let built = PACKAGES.iter().map(|packages| build(packages, profile, objects));
        Ok(Self(built.collect::<Result<Vec<_>>>()?.concat()))
    }

    /// Those of a layer.
    pub fn of(&self, layer: Layer) -> impl Iterator<Item = Program> {
        let is_units = matches!(layer, Layer::Units | Layer::Wording);
        let belongs = move |built: &&Built| {
            if is_units {
                !built.is_in_tests || built.target == "harness"
            } else {
                built.is_in_tests && built.target == layer.name()
            }
        };
        self.0.iter().filter(belongs).map(Built::program)
    }

    /// Those of a target's name, in any package.
    pub fn called<'a>(&'a self, target: &'a str) -> impl Iterator<Item = Program> + 'a {
        self.0.iter().filter(move |built| built.target == target).map(Built::program)
    }
}

impl Built {
    fn program(&self) -> Program {
        Program { file: self.file.clone(), directory: self.directory.clone(), variables: Vec::new() }
    }
}

fn build(packages: &[&str], profile: Profile, objects: Objects) -> Result<Vec<Built>> {
    let mut cargo = workspace::cargo();
    if objects == Objects::Fresh {
        cargo.env(compiled::CHOICE, compiled::FRESH);
    }
    cargo.args(["test", "--no-run", "--tests", "--message-format=json-render-diagnostics"]);
    if matches!(profile, Profile::Release) {
        cargo.arg("--release");
    }
    cargo.args(packages.iter().flat_map(|package| ["--package", package]));
    eprintln!("$ {}", process::line(&cargo));
    let told = process::output(cargo.stderr(Stdio::inherit())).context("cannot build the tests")?;
    Ok(told.lines().filter_map(built).collect())
}

/// The test program that a message of cargo's reports.
fn built(message: &str) -> Option<Built> {
    let file = value(message, "executable")?;
    let profile = message.split_once("\"profile\":{")?.1.split('}').next()?;
    profile.contains("\"test\":true").then_some(())?;
    let target = message.split_once("\"target\":")?.1;
    let directory = Path::new(value(message, "manifest_path")?).parent()?.to_owned();
    let is_in_tests = value(message, "package_id")?.contains(&format!("#{TESTS}@"));
    Some(Built { target: value(target, "name")?.to_owned(), directory, file: file.into(), is_in_tests })
}

/// The text under `key`. JSON escapes nothing in the names and paths that are asked for.
fn value<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    message.split_once(&format!("\"{key}\":\""))?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_says_where_a_test_program_lies() {
        let message = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/tests#filterd-tests@0.1.0","manifest_path":"/w/tests/Cargo.toml","target":{"kind":["test"],"name":"network","test":true},"profile":{"opt_level":"1","test":true},"filenames":[],"executable":"/t/deps/network-1"}"#;
        let expected = Built {
            target: "network".into(),
            directory: "/w/tests".into(),
            file: "/t/deps/network-1".into(),
            is_in_tests: true,
        };
        assert_eq!(built(message), Some(expected));
        let program =
            message.replace("\"opt_level\":\"1\",\"test\":true", "\"opt_level\":\"1\",\"test\":false");
        assert_eq!(built(&program), None, "no test program, though its target can be tested");
        assert_eq!(built(r#"{"target":{"kind":["lib"],"name":"filterd"},"executable":null}"#), None);
    }
}
