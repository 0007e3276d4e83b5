//! The ring of models: spin takes those of tests/model through all their states, and must find the fault in each mutant.

mod trials;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use trials::{Outcome, TRIALS, Trial};

use crate::results::Report;
use crate::side_by_side;
use crate::tools::{Tool, Tools, asked, tool};

/// spin writes a program that goes through the states; its own preprocessor is gcc's.
pub const TOOLS: [Tool; 2] = [asked("spin", "spin", "-V"), tool("gcc", "gcc")];

/// Takes the trials whose names hold one of these words, all if there are none, one a processor at a time, and reports as
/// libtest does.
pub fn run(tools: &Tools, words: &[OsString], report: &mut Report) -> Result<()> {
    let chosen: Vec<_> = TRIALS.iter().filter(|trial| is_chosen(&trial.name(), words)).collect();
    let begun = Instant::now();
    report.read(&format!("running {} models and mutants", chosen.len()));
    let told = Mutex::new(&mut *report);
    let tell = |line: &str| told.lock().expect("no line makes a report panic").read(line);
    let trials = longest_first(&chosen).into_iter().map(|trial| || is_as_expected(trial, tools, &tell));
    let seen = side_by_side::all(processors(), trials.collect());
    let passed =
        seen.into_iter().collect::<Result<Vec<_>>>()?.into_iter().filter(|is_right| *is_right).count();
    let failed = chosen.len() - passed;
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    let seconds = begun.elapsed().as_secs_f32();
    let sums = format!("test result: {verdict}. {passed} passed; {failed} failed; finished in {seconds:.2}s");
    report.read(&sums);
    report.end(failed == 0);
    Ok(())
}

/// Whatever holds is searched to its end, so these begin, lest one of them be left over when all else is done.
fn longest_first<'a>(trials: &[&'a Trial]) -> Vec<&'a Trial> {
    let (whole, short): (Vec<&Trial>, _) = trials.iter().partition(|trial| trial.expected == Outcome::Holds);
    [whole, short].concat()
}

fn is_as_expected(trial: &Trial, tools: &Tools, tell: &impl Fn(&str)) -> Result<bool> {
    let seen = trial.take(tools)?;
    let is_right = seen.outcome == trial.expected;
    let verdict = if is_right { "ok" } else { "FAILED" };
    tell(&format!("test {} ... {verdict} ({:?} after {} states)", trial.name(), seen.outcome, seen.states));
    Ok(is_right)
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn is_chosen(name: &str, words: &[OsString]) -> bool {
    words.is_empty() || words.iter().any(|word| name.contains(&*word.to_string_lossy()))
}

/// What spin found.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    outcome: Outcome,
    states: u64,
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
    fn take(&self, tools: &Tools) -> Result<Seen> {
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
    workspace::root().join("tests/model")
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
    fn a_search_that_found_nothing_to_object_to_holds() {
        assert_eq!(read(WHOLE), Some(Seen { outcome: Outcome::Holds, states: 2859 }));
    }

    #[test]
    fn a_search_that_was_cut_short_does_not_count() {
        assert_eq!(read(&format!("error: max search depth too small\n{WHOLE}")), None);
        assert_eq!(read(&format!("Warning: Search not completed\n{WHOLE}")), None);
        assert_eq!(read("pan: out of memory"), None);
    }

    #[test]
    fn a_mutant_is_caught_by_an_assertion_and_nothing_else() {
        let broken = WHOLE.replace("errors: 0", "errors: 1");
        assert_eq!(read(&broken), None);
        let caught = format!(
            "pan:1: assertion violated (listed==1) (at depth 60)\nWarning: Search not completed\n{broken}"
        );
        assert_eq!(read(&caught), Some(Seen { outcome: Outcome::Breaks, states: 2859 }));
    }

    #[test]
    fn mutants_are_chosen_by_name() {
        assert!(is_chosen("batch::nobody_is_copied", &["nobody".into()]));
        assert!(!is_chosen("forward", &["nobody".into()]));
    }
}
