//! One search: spin and gcc make a program of a model, and that program goes through all states. What lies in this file is
//! part of each trial's key (`kept`), so a change of it makes every search run again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use super::trials::{Outcome, Trial};
use crate::tools::Tools;

/// Where models lie, from the top of the work tree.
pub const MODELS: &str = "tests/model";

/// What spin found.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    pub outcome: Outcome,
    pub states: u64,
}

impl Trial {
    /// How the compiler optimises the search, and how many places its table has, as a power of two. Some ten million states are
    /// worth both. A mutant is found after some thousands, in less time than optimising takes.
    fn search(&self) -> (&'static str, &'static str) {
        match self.expected {
            Outcome::Holds => ("-O2", "-w25"),
            Outcome::Breaks => ("-O0", "-w20"),
        }
    }

    /// In a directory of its own: spin leaves its program where it stands.
    pub fn take(&self, tools: &Tools) -> Result<Seen> {
        let directory = workspace::target()?.join("model").join(self.name().replace("::", "-"));
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let mut spin = at(&directory, "spin", tools)?;
        spin.args(self.defines.iter().map(|define| format!("-D{define}"))).arg("-a");
        process::run_quietly(spin.arg(models().join(self.model).with_extension("pml")))?;
        let (optimised, places) = self.search();
        let gcc = [optimised, "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"];
        process::run_quietly(at(&directory, "gcc", tools)?.args(gcc))?;
        let mut pan = Command::new(directory.join("pan"));
        // Room for long ways into the depth; no list of what was never reached.
        let said = process::output(pan.args(["-m100000", places, "-n"]).current_dir(&directory))?;
        read(&said).with_context(|| format!("spin did not finish {}: {said}", self.name()))
    }
}

fn models() -> PathBuf {
    workspace::root().join(MODELS)
}

fn at(directory: &Path, program: &str, tools: &Tools) -> Result<Command> {
    let mut command = tools.command(program)?;
    tools.equip(&mut command).current_dir(directory);
    Ok(command)
}

/// What its program says in the end. A search that was cut short has found nothing out, unless it found a fault.
fn read(said: &str) -> Option<Seen> {
    let number = |before: &str, after: &str| {
        let line = said.lines().find(|line| line.contains(after))?;
        line.split_once(before)?.1.split_whitespace().next()?.parse().ok()
    };
    let errors: u64 = number("errors: ", "errors: ")?;
    let states = number("", " states, stored")?;
    let is_whole = !said.contains("too small") && !said.contains("Search not completed");
    match errors {
        0 if is_whole => Some(Seen { outcome: Outcome::Holds, states }),
        0 => None,
        _ if said.contains("assertion violated") => Some(Seen { outcome: Outcome::Breaks, states }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "Full statespace search for:\n\nState-vector 168 byte, depth reached 189, errors: 0\n     2859 states, stored\n";

    #[test]
    fn search_without_findings_holds() {
        assert_eq!(read(WHOLE), Some(Seen { outcome: Outcome::Holds, states: 2859 }));
    }

    #[test]
    fn interrupted_search_does_not_count() {
        assert_eq!(read(&format!("error: max search depth too small\n{WHOLE}")), None);
        assert_eq!(read(&format!("Warning: Search not completed\n{WHOLE}")), None);
        assert_eq!(read("pan: out of memory"), None);
    }

    #[test]
    fn only_an_assertion_catches_a_mutant() {
        let broken = WHOLE.replace("errors: 0", "errors: 1");
        assert_eq!(read(&broken), None);
        let caught = format!(
            "pan:1: assertion violated (listed==1) (at depth 60)\nWarning: Search not completed\n{broken}"
        );
        assert_eq!(read(&caught), Some(Seen { outcome: Outcome::Breaks, states: 2859 }));
    }
}
