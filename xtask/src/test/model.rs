//! The ring of models: spin takes those of tests/model through all their states, and must find the fault in each mutant.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use crate::results::Report;
use crate::tools::{Tool, Tools, asked, tool};

/// spin writes a program that goes through the states; its own preprocessor is gcc's.
pub const TOOLS: [Tool; 2] = [asked("spin", "spin", "-V"), tool("gcc", "gcc")];

/// A model, with what is defined for it.
struct Trial {
    model: &'static str,
    defines: &'static [&'static str],
    expected: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// No packet is ever told anything wrong.
    Holds,
    /// Some packet is.
    Breaks,
}

const fn holds(model: &'static str, defines: &'static [&'static str]) -> Trial {
    Trial { model, defines, expected: Outcome::Holds }
}

const fn breaks(model: &'static str, defines: &'static [&'static str]) -> Trial {
    Trial { model, defines, expected: Outcome::Breaks }
}

/// Each mutant leaves out one thing that the protocol does, and shows that the model would notice. Where loads are in
/// order the stash is looked into last, so that the first grace period could indeed be left out: that mutant needs
/// memory without order. The same goes for the grace period between what is allowed and what is blocked, and for the one
/// before a reload's last settings: a judge must be guessed to be there too early. Of IPv6 from the top the model tells that
/// within one prefix any order is right.
const TRIALS: [Trial; 76] = [
    holds("batch", &["REQUESTS=1"]),
    holds("batch", &["REQUESTS=2", "LOADS_IN_ORDER"]),
    holds("forward", &[]),
    breaks("batch", &["WITHOUT_THE_FIRST_GRACE_PERIOD", "REQUESTS=0"]),
    breaks("batch", &["WITHOUT_THE_SECOND_GRACE_PERIOD", "REQUESTS=0"]),
    breaks("batch", &["WITHOUT_THE_SECOND_GRACE_PERIOD", "REQUESTS=0", "LOADS_IN_ORDER"]),
    breaks("batch", &["NOBODY_IS_COPIED", "REQUESTS=0"]),
    breaks("batch", &["NEWCOMER_IN_A_PLANNED_WORD", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("batch", &["REMOVAL_FORGETS_THE_PLAN", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("batch", &["REMOVAL_FORGETS_THE_STASH", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("batch", &["REMOVAL_FORGETS_THE_BATCH", "REQUESTS=2", "LOADS_IN_ORDER"]),
    breaks("batch", &["PUBLISHED_BEFORE_IT_IS_FILLED", "REQUESTS=0"]),
    breaks("batch", &["FREED_WITHOUT_A_GRACE_PERIOD", "REQUESTS=0"]),
    breaks("forward", &["LOADS_IN_ANY_ORDER"]),
    breaks("forward", &["STORES_IN_ANY_ORDER"]),
    breaks("forward", &["ENTRIES_MOVE_BACK"]),
    breaks("forward", &["ERASED_BEFORE_IT_IS_COPIED"]),
    holds("reload", &[]),
    holds("reload", &["LOADS_IN_ORDER"]),
    holds("reload", &["SIX", "SLOT_IN_ANY_ORDER"]),
    holds("reload", &["SIX", "LOADS_IN_ORDER"]),
    holds("reload", &["SIX", "LOADS_IN_ORDER", "RELOADS=2"]),
    holds("reload", &["SIX", "LOADS_IN_ORDER", "RELEASED_AT_ONCE"]),
    holds("reload", &["GRACELESS"]),
    holds("reload", &["SIX", "GRACELESS"]),
    breaks("reload", &["NO_GRACE_AFTER_LOOSENING", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_AFTER_ALLOWING", "SIX"]),
    breaks("reload", &["NO_GRACE_AFTER_ADDITIONS", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_AFTER_ADDITIONS", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_AFTER_PUBLISHING", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_AFTER_REMOVALS", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["LOOSENING_FORGOTTEN_AT_THE_END", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_IN_A_ROLLBACK", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ROLLBACK_LEAVES_WHAT_CAME", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_BEFORE_ENFORCING", "SIX", "SLOT_IN_ANY_ORDER"]),
    breaks("reload", &["GRACES_FORGOTTEN_BETWEEN_RELOADS", "SIX", "LOADS_IN_ORDER", "RELOADS=2"]),
    breaks("reload", &["REMOVALS_FIRST", "LOADS_IN_ORDER"]),
    breaks("reload", &["REMOVALS_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["COUNTED_LAST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ENFORCED_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ALLOW_ADDED_LAST", "LOADS_IN_ORDER"]),
    breaks("reload", &["ALLOW_REMOVED_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ALLOW_ASKED_LAST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ALLOW_SWITCHED_OFF_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["SWITCHED_ON_LAST", "LOADS_IN_ORDER"]),
    breaks("reload", &["SWITCHED_OFF_FIRST", "LOADS_IN_ORDER"]),
    breaks("reload", &["FRESH_TABLE_IS_EMPTY", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["SUMMARY_FORGETS_NEIGHBOURS", "LOADS_IN_ORDER"]),
    breaks("reload", &["SETTINGS_BACK_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["PUBLISHED_BEFORE_IT_IS_FILLED", "GRACELESS"]),
    breaks("reload", &["SETTINGS_PUBLISHED_APART", "GRACELESS"]),
    holds("levels", &["WIDE", "REQUESTS=3"]),
    holds("levels", &["DEEP", "REQUESTS=3"]),
    holds("levels", &["CLASSED", "REQUESTS=3"]),
    holds("levels", &["CLASSED_DEEPER", "REQUESTS=3"]),
    holds("levels", &["BESIDES", "REQUESTS=3"]),
    holds("levels", &["ELSEWHERE", "REQUESTS=3"]),
    holds("levels", &["WIDE", "REQUESTS=2", "KILLED"]),
    holds("levels", &["CLASSED", "REQUESTS=2", "KILLED"]),
    holds("levels", &["CLASSED", "REQUESTS=3", "BIT_BEFORE_TABLE", "TABLE_BEFORE_BIT"]),
    breaks("levels", &["NO_GRACE_BEFORE_REMOVALS", "WIDE", "REQUESTS=2", "LOADS_IN_ORDER"]),
    breaks("levels", &["NO_GRACE_BEFORE_REMOVALS", "DEEP", "REQUESTS=2", "LOADS_IN_ORDER"]),
    breaks("levels", &["NUMBERS_ARE_USED_AGAIN", "ELSEWHERE", "REQUESTS=3", "LOADS_IN_ORDER"]),
    breaks("levels", &["A_NODE_COMES_LATE", "DEEP", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["A_NEW_NODE_FORGETS_THE_WHOLE", "DEEP", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["SHORT_ONES_ARE_NEVER_IN_THE_TABLE", "DEEP", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["LENGTHS_ARE_NOT_NAMED", "BESIDES", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["NESTED_ONES_ARE_FORGOTTEN", "WIDE", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["NESTED_ONES_ARE_FORGOTTEN", "BESIDES", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["NEIGHBOURS_ARE_FORGOTTEN", "BESIDES", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["THE_WHOLE_IS_TIDIED_AWAY", "DEEP", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["CLASSES_KNOW_THE_NEWCOMER_ONLY", "CLASSED", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["THE_LATEST_CLASS_COUNTS", "CLASSED", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["STORED_BEFORE_IT_IS_FILLED", "CLASSED", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["PUBLISHED_BEFORE_IT_IS_FILLED", "WIDE", "KILLED", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["FREED_WITHOUT_A_GRACE_PERIOD", "WIDE", "KILLED", "REQUESTS=1", "LOADS_IN_ORDER"]),
];

/// Takes the trials whose names hold one of these words, all if there are none, and reports as libtest does.
pub fn run(tools: &Tools, words: &[OsString], report: &mut Report) -> Result<()> {
    let chosen: Vec<_> = TRIALS.iter().filter(|trial| is_chosen(&trial.name(), words)).collect();
    let begun = Instant::now();
    report.read(&format!("running {} models and mutants", chosen.len()));
    let mut passed = 0;
    for trial in &chosen {
        let seen = trial.take(tools)?;
        let is_right = seen.outcome == trial.expected;
        let verdict = if is_right { "ok" } else { "FAILED" };
        let told = format!("({:?} after {} states)", seen.outcome, seen.states);
        report.read(&format!("test {} ... {verdict} {told}", trial.name()));
        passed += usize::from(is_right);
    }
    let failed = chosen.len() - passed;
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    let seconds = begun.elapsed().as_secs_f32();
    let sums = format!("test result: {verdict}. {passed} passed; {failed} failed; finished in {seconds:.2}s");
    report.read(&sums);
    report.end(failed == 0);
    Ok(())
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
    fn name(&self) -> String {
        let defines: Vec<_> = self.defines.iter().map(|define| define.to_lowercase()).collect();
        [&[self.model.to_owned()], &defines[..]].concat().join("::")
    }

    /// In a directory of its own: spin leaves its program where it stands.
    fn take(&self, tools: &Tools) -> Result<Seen> {
        let directory = workspace::target()?.join("model").join(self.name().replace("::", "-"));
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let mut spin = at(&directory, "spin", tools)?;
        spin.args(self.defines.iter().map(|define| format!("-D{define}"))).arg("-a");
        process::run_quietly(spin.arg(models().join(self.model).with_extension("pml")))?;
        process::run_quietly(at(&directory, "gcc", tools)?.args([
            "-O2",
            "-DSAFETY",
            "-DNOREDUCE",
            "-o",
            "pan",
            "pan.c",
        ]))?;
        let mut pan = Command::new(directory.join("pan"));
        // Room for long ways into the depth, and for some ten million states; no list of what was never reached.
        let said = process::output(pan.args(["-m100000", "-w25", "-n"]).current_dir(&directory))?;
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
