//! Times and errors of one subject, all subjects in turn, again and again.

use anyhow::{Result, ensure};
use filterd_measure::figures::Figures;
use pages::clock;

use crate::beside::Beside;
use crate::crowd;
use crate::subject::{Changes, Subject, Subjects};

/// Of each kind; and so many are taken out, too.
const LOOKUPS: usize = 2_000_000;

/// As large are the filters that are filled until they refuse somebody.
const REFUSING: usize = 1_000_000;

/// What all subjects are asked.
pub struct Tasks {
    pub members: Vec<u64>,
    /// With no member, with every second one, and with nobody else.
    pub lookups: [Vec<u64>; 3],
    /// Of whom each subject is asked once.
    pub non_members: u32,
}

/// What came out once; times are nanoseconds each.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub insert: f64,
    /// Of non-members, of both, of members.
    pub lookups: [f64; 3],
    pub remove: Option<f64>,
    pub bits: u64,
    pub errors: Option<Errors>,
}

/// Wrong answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errors {
    /// Members that were not found.
    pub lost: usize,
    /// Non-members that were found.
    pub found: usize,
}

impl Errors {
    fn of(filter: &impl Subject, tasks: &Tasks) -> Self {
        let found =
            crowd::non_members(tasks.non_members).filter(|&non_member| filter.contains(non_member)).count();
        Self { lost: tasks.members.iter().filter(|&&member| !filter.contains(member)).count(), found }
    }
}

/// What came out for one subject.
#[derive(Debug)]
pub struct Line {
    pub name: String,
    pub insert: Figures,
    pub lookups: [Figures; 3],
    pub remove: Option<Figures>,
    pub bits_per_item: f64,
    pub lost: usize,
    pub false_positives: f64,
    pub refusal: Option<f64>,
}

impl Tasks {
    pub fn new(members: u32) -> Self {
        let lookups = [0, 50, 100].map(|percent| crowd::mixed(LOOKUPS, members, percent));
        Self { members: crowd::members(members), lookups, non_members: 10_000_000 }
    }
}

/// All subjects, and a program beside them.
pub fn lines(
    subjects: &Subjects,
    beside: Option<&Beside<'_>>,
    members: u32,
    rounds: usize,
) -> Result<Vec<Line>> {
    let tasks = Tasks::new(members);
    let mut samples: Vec<(String, Vec<Sample>)> =
        subjects.iter().map(|subject| (subject.name().to_owned(), Vec::new())).collect();
    for round in 0..rounds {
        eprint!("\rround {} of {rounds} ", round + 1);
        for (subject, (_, samples)) in subjects.iter().zip(&mut samples) {
            samples.push(subject.sample(&tasks, round == 0));
        }
        for (name, sample) in beside.map(|beside| beside.samples(&tasks)).transpose()?.unwrap_or_default() {
            match samples.iter_mut().find(|(other, _)| *other == name) {
                Some((_, samples)) => samples.push(sample),
                None => samples.push((name, vec![sample])),
            }
        }
    }
    eprintln!();
    let refusals: Vec<_> = subjects.iter().map(|subject| subject.refusal(REFUSING)).collect();
    let refusals = refusals.into_iter().chain(std::iter::repeat(None));
    let lines = samples.into_iter().zip(refusals);
    let lines: Vec<Line> =
        lines.map(|((name, samples), refusal)| line(name, &samples, &tasks, refusal)).collect();
    let exact = lines.iter().filter(|line| line.name.starts_with("filterd"));
    for line in exact {
        ensure!(line.lost == 0 && line.false_positives == 0.0, "{} is not exact", line.name);
    }
    Ok(lines)
}

/// One sample of a subject. Errors are the same every time, and are counted only the first time.
pub fn take<S: Subject>(tasks: &Tasks, is_first: bool) -> Sample {
    let mut filter = None;
    let insert = clock::each(tasks.members.len(), || filter = Some(S::of(&tasks.members)));
    let mut filter = filter.expect("it was just made");
    let lookups = [0, 1, 2].map(|part| clock::lookups(&tasks.lookups[part], |key| filter.contains(key)).0);
    let (bits, errors) = (filter.bits(), is_first.then(|| Errors::of(&filter, tasks)));
    let leaving = &tasks.members[..tasks.members.len().min(LOOKUPS)];
    let remove = (S::CHANGES == Changes::Both)
        .then(|| clock::each(leaving.len(), || leaving.iter().for_each(|&member| filter.remove(member))));
    Sample { insert, lookups, remove, bits, errors }
}

/// The load at which a subject made for so many refuses somebody.
pub fn refusal<S: Subject>(members: usize) -> Option<f64> {
    let mut filter = S::with_room_for(members);
    let slots = filter.slots()?;
    let taken = (0..u32::MAX).take_while(|&number| filter.insert(crowd::address(number))).count();
    Some(taken as f64 / slots as f64)
}

fn line(name: String, samples: &[Sample], tasks: &Tasks, refusal: Option<f64>) -> Line {
    let figures = |part: &dyn Fn(&Sample) -> f64| Figures::of(samples.iter().map(part).collect());
    let removes: Option<Vec<f64>> = samples.iter().map(|sample| sample.remove).collect();
    let errors = samples[0].errors.unwrap_or_default();
    Line {
        insert: figures(&|sample| sample.insert),
        lookups: [0, 1, 2].map(|part| figures(&|sample| sample.lookups[part])),
        remove: removes.map(Figures::of),
        bits_per_item: samples[0].bits as f64 / tasks.members.len() as f64,
        lost: errors.lost,
        false_positives: errors.found as f64 / f64::from(tasks.non_members),
        refusal,
        name,
    }
}
