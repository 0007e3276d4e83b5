//! Builds everything that is tested, once and in one profile: units, test programs and the daemon under test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use bpf_build::{compiled, process, workspace};

use super::chosen::Chosen;
use super::layer::{LAYERS, Layer};
use super::runner::Program;
use crate::build::Profile;

/// The package of the test programs. All other packages hold units.
const TESTS: &str = "filterd-tests";

/// What is built together, always: cargo compiles a crate again where other packages want other features of it.
const OF_DAEMON: [&str; 5] = ["filter-common", "filter-daemon", "filterd-real", "filterd-paper", TESTS];

/// So the packages of xtask, which is built already, are apart.
const OF_XTASK: [&str; 2] = ["bpf-build", "xtask"];

/// Where packages of units have test programs beside their own.
const BESIDE: [&str; 2] = ["filter-daemon/tests", "tests/paper/tests"];

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
    /// Builds those of the chosen layers, in the profile of tests.
    pub fn build(chosen: &Chosen, objects: Objects) -> Result<Self> {
        Self::build_as(Profile::Debug, chosen, objects)
    }

    pub fn build_as(profile: Profile, chosen: &Chosen, objects: Objects) -> Result<Self> {
        compiled::provide()?;
        let mut built = Vec::new();
        let targets = targets(chosen)?;
        if !targets.is_empty() {
            built = build(&OF_DAEMON, &targets, profile, objects)?;
        }
        if chosen.has_layer(Layer::Units.name()) {
            built.extend(build(&OF_XTASK, &["--tests".to_owned()], profile, objects)?);
        }
        Ok(Self(built))
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

/// The words for cargo that name the test programs of the chosen layers.
fn targets(chosen: &Chosen) -> Result<Vec<String>> {
    if chosen.has_every_layer() {
        return Ok(vec!["--tests".to_owned()]);
    }
    let named = |name: &str| ["--test".to_owned(), name.to_owned()];
    let mut targets = Vec::new();
    for layer in LAYERS.into_iter().filter(|layer| chosen.has_layer(layer.name())) {
        match layer {
            Layer::Units => {
                targets.extend(["--lib", "--bins"].map(ToOwned::to_owned));
                targets.extend(programs_beside()?.iter().flat_map(|name| named(name)));
            }
            // Units have brought it already.
            Layer::Wording if chosen.has_layer(Layer::Units.name()) => {}
            Layer::Wording => targets.push("--lib".to_owned()),
            Layer::Model => {}
            Layer::Judge
            | Layer::Program
            | Layer::Network
            | Layer::OddInputs
            | Layer::Soak
            | Layer::Verifier => targets.extend(named(layer.name())),
        }
    }
    Ok(targets)
}

/// The names of the test programs in `BESIDE`.
fn programs_beside() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for directory in BESIDE {
        let directory = workspace::root().join(directory);
        let entries = fs::read_dir(&directory);
        for entry in entries.with_context(|| format!("cannot list {}", directory.display()))? {
            let path = entry?.path();
            let is_program = path.join("main.rs").exists() || path.extension().is_some_and(|end| end == "rs");
            names.extend(path.file_stem().filter(|_| is_program).map(|name| name.to_string_lossy().into()));
        }
    }
    names.sort();
    Ok(names)
}

fn build(packages: &[&str], targets: &[String], profile: Profile, objects: Objects) -> Result<Vec<Built>> {
    let mut cargo = workspace::cargo();
    if objects == Objects::Fresh {
        cargo.env(compiled::CHOICE, compiled::FRESH);
    }
    cargo.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(targets);
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
    fn only_what_the_chosen_layers_need_is_built() {
        let names: Vec<_> = LAYERS.iter().map(|layer| layer.name()).collect();
        for (words, expected) in [
            (&[][..], "--tests"),
            (&["vlan"], "--tests"),
            (
                &["units", "vlan"],
                "--lib --bins --test beside_a_writer --test fuzz --test members --test strangers",
            ),
            (
                &["units", "wording"],
                "--lib --bins --test beside_a_writer --test fuzz --test members --test strangers",
            ),
            (&["wording", "program", "network"], "--lib --test program --test network"),
            (&["model"], ""),
        ] {
            let words: Vec<_> = words.iter().map(ToString::to_string).collect();
            let told = targets(&Chosen::read(&words, &names)).unwrap();
            assert_eq!(told.join(" "), expected, "{words:?}");
        }
    }

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
