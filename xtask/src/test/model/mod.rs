//! The ring of models: spin takes those of tests/model through all their states, and must find the fault in each mutant. A
//! trial that came out as expected is kept, and runs again when something that it reads has changed.

mod key;
mod search;
mod trials;

use std::sync::Mutex;
use std::thread;

use anyhow::Result;

use key::Versions;
use trials::{Outcome, TRIALS, Trial};

use super::chosen::Chosen;
use super::failure::Failure;
use super::progress::Progress;
use crate::kept::{Kept, Success};
use crate::results::Report;
use crate::side_by_side;
use crate::tools::{Tool, Tools, asked, tool};

/// spin writes a program that goes through the states; its own preprocessor is gcc's.
pub const TOOLS: [Tool; 2] = [asked("spin", "spin", "-V"), tool("gcc", "gcc")];

/// The layer's name.
const LAYER: &str = "model";

/// A trial, where its result is kept, and the result if it is there.
struct Candidate<'a> {
    trial: &'a Trial,
    kept: Kept,
    success: Option<Success>,
}

/// Runs the chosen trials, one a processor at a time. Those whose results are kept count as passed.
pub fn run(tools: &Tools, chosen: &Chosen, report: &mut Report, progress: &Progress) -> Result<()> {
    let trials: Vec<_> = TRIALS.iter().filter(|trial| chosen.holds(LAYER, &trial.name())).collect();
    if trials.is_empty() {
        return Ok(());
    }
    let versions = Versions::of(tools)?;
    let candidates = trials.into_iter().map(|trial| Candidate::new(trial, &versions));
    let candidates = candidates.collect::<Result<Vec<_>>>()?;
    report.begin(LAYER);
    note_kept(&candidates, report);
    let waiting: Vec<_> = candidates.iter().filter(|candidate| candidate.success.is_none()).collect();
    progress.begin("", LAYER, waiting.len());
    let noted = Mutex::new(&mut *report);
    let tasks = longest_first(&waiting).into_iter().map(|candidate| {
        let noted = &noted;
        move || {
            let failure = candidate.run(tools)?;
            let mut report = noted.lock().expect("noting a result does not panic");
            progress.advance("", failure.is_some());
            match failure {
                None => report.pass(),
                Some(failure) => report.fail_test(&failure),
            }
            anyhow::Ok(())
        }
    });
    side_by_side::all(processors(), tasks.collect()).into_iter().collect::<Result<()>>()?;
    report.finish();
    Ok(())
}

/// Counts the results that are kept, and says since when.
fn note_kept(candidates: &[Candidate<'_>], report: &mut Report) {
    let kept: Vec<_> = candidates.iter().filter_map(|candidate| candidate.success.as_ref()).collect();
    if let Some(oldest) = kept.iter().map(|success| &success.when).min() {
        report.note_kept(kept.len(), candidates.len(), oldest);
    }
    kept.iter().for_each(|_| report.pass());
}

/// A trial that holds is searched to its end. So these begin, lest one of them run on alone at the end.
fn longest_first<'a>(candidates: &[&'a Candidate<'a>]) -> Vec<&'a Candidate<'a>> {
    let (whole, short): (Vec<&Candidate<'_>>, _) =
        candidates.iter().partition(|candidate| candidate.trial.expected == Outcome::Holds);
    [whole, short].concat()
}

impl<'a> Candidate<'a> {
    fn new(trial: &'a Trial, versions: &Versions) -> Result<Self> {
        let kept = trial.kept(versions)?;
        Ok(Self { trial, success: kept.find(), kept })
    }

    /// Runs the trial, and keeps the result if it was expected.
    fn run(&self, tools: &Tools) -> Result<Option<Failure>> {
        let seen = self.trial.take(tools)?;
        let line = format!("{:?} after {} states", seen.outcome, seen.states);
        if seen.outcome == self.trial.expected {
            self.kept.remember(&[line]);
            return Ok(None);
        }
        let reason = format!("{line}, but {:?} was expected", self.trial.expected);
        Ok(Some(Failure::new(&self.trial.name(), &reason)))
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
