//! The key of a trial: its model with everything that the model includes, its defines, the programs that search, and how.

use std::collections::BTreeSet;
use std::env;
use std::fs;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use super::search::MODELS;
use super::trials::Trial;
use crate::kept::{Inputs, Kept};
use crate::tools::Tools;

/// How models are searched, and what counts as found.
const SEARCH: &str = include_str!("search.rs");

/// What the programs say of themselves that search.
pub struct Versions {
    spin: String,
    gcc: String,
}

impl Versions {
    pub fn of(tools: &Tools) -> Result<Self> {
        let version = |program, flag| process::output(tools.equip(&mut tools.command(program)?).arg(flag));
        Ok(Self { spin: version("spin", "-V")?, gcc: version("gcc", "--version")? })
    }
}

impl Trial {
    /// Where its result is kept.
    pub fn kept(&self, versions: &Versions) -> Result<Kept> {
        Kept::of(&format!("model/{}", self.name()), &self.inputs(versions)?)
    }

    fn inputs(&self, versions: &Versions) -> Result<Inputs> {
        let inputs = Inputs::of_tree()
            .word("search", SEARCH)
            .word("spin", &versions.spin)
            .word("gcc", &versions.gcc)
            .word("processor", env::consts::ARCH)
            .word("expected", &format!("{:?}", self.expected));
        let inputs = self.defines.iter().fold(inputs, |inputs, define| inputs.word("define", define));
        let read = |path: &str| {
            let file = workspace::root().join(path);
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
        };
        files(&format!("{MODELS}/{}.pml", self.model), &read)?
            .iter()
            .try_fold(inputs, |inputs, path| inputs.file(path))
    }
}

/// A model and what it includes, directly or not.
fn files(model: &str, read: &impl Fn(&str) -> Result<String>) -> Result<BTreeSet<String>> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![model.to_owned()]);
    while let Some(path) = waiting.pop() {
        let text = read(&path)?;
        waiting.extend(included(&text).filter(|name| !found.contains(name)));
        found.insert(path);
    }
    Ok(found)
}

/// The files that lines such as `#include "readers.pml"` name.
fn included(text: &str) -> impl Iterator<Item = String> {
    let names = text.lines().filter_map(|line| {
        let directive = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        directive.split('"').nth(1)
    });
    names.map(|name| format!("{MODELS}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::super::trials::{Outcome, TRIALS};
    use super::*;

    fn versions(spin: &str, gcc: &str) -> Versions {
        Versions { spin: spin.to_owned(), gcc: gcc.to_owned() }
    }

    fn key(trial: &Trial, versions: &Versions) -> String {
        trial.inputs(versions).unwrap().key().unwrap()
    }

    #[test]
    fn key_follows_everything_that_a_trial_reads() {
        let trial = |model, defines, expected| Trial { model, defines, expected };
        let first = trial("forward", &["A"], Outcome::Holds);
        let same = versions("6.5", "12");
        let keys = [
            key(&first, &same),
            key(&first, &versions("6.6", "12")),
            key(&first, &versions("6.5", "13")),
            key(&trial("batch", &["A"], Outcome::Holds), &same),
            key(&trial("forward", &["B"], Outcome::Holds), &same),
            key(&trial("forward", &["A", "B"], Outcome::Holds), &same),
            key(&trial("forward", &[], Outcome::Holds), &same),
            key(&trial("forward", &["A"], Outcome::Breaks), &same),
        ];
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        assert_eq!(keys[0], key(&first, &same));
    }

    #[test]
    fn trials_share_no_place() {
        let same = versions("6.5", "12");
        let keys: BTreeSet<_> = TRIALS.iter().map(|trial| key(trial, &same)).collect();
        assert_eq!(keys.len(), TRIALS.len());
    }

    #[test]
    fn included_files_are_read_too() {
        let read = |path: &str| {
            let text = match path {
                "tests/model/a.pml" => "#define A\n# include \"b.pml\"\n  #include \"c.pml\"\n",
                "tests/model/b.pml" => "#include \"c.pml\"\n#include \"a.pml\"\n",
                _ => "// include \"d.pml\"\n",
            };
            Ok(text.to_owned())
        };
        let found: Vec<_> = files("tests/model/a.pml", &read).unwrap().into_iter().collect();
        assert_eq!(found, ["tests/model/a.pml", "tests/model/b.pml", "tests/model/c.pml"]);
        assert_eq!(files("tests/model/z.pml", &read).unwrap().len(), 1);
        assert!(files("tests/model/a.pml", &|_| anyhow::bail!("gone")).is_err());
    }
}
