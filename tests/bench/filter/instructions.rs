//! Instructions for each insert, lookup and delete, counted by callgrind: they are the same in every run.
//!
//! This very program runs again under valgrind with `--once`, and calls [`counted`] for each kind of work. Callgrind
//! counts only inside of it, and dumps what it has counted each time it is left.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::crowd;
use crate::subject::{Changes, Subject, Subjects};

/// How many of each.
const MEMBERS: u32 = 100_000;

/// What is done once.
pub struct Work {
    members: Vec<u64>,
    non_members: Vec<u64>,
}

/// Instructions for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instructions {
    pub insert: Option<f64>,
    pub non_member: Option<f64>,
    pub member: Option<f64>,
    pub remove: Option<f64>,
}

/// Counts them for all subjects; for none where there is no valgrind.
pub fn count(subjects: &Subjects) -> Result<Vec<(&'static str, Instructions)>> {
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("there is no valgrind: instructions are not counted");
        return Ok(Vec::new());
    }
    let count = |(number, name)| {
        eprint!("\rcallgrind {} ", number + 1);
        Ok((name, count_one(number).with_context(|| format!("cannot count instructions of {name}"))?))
    };
    let counted = subjects.iter().map(|subject| subject.name()).enumerate().map(count).collect();
    eprintln!();
    counted
}

fn count_one(number: usize) -> Result<Instructions> {
    let directory = env::temp_dir().join(format!("filterd-callgrind-{}-{number}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let out = directory.join("out");
    let mut valgrind = Command::new("valgrind");
    // Callgrind forgets the first of two wishes for the same pattern: so there are two patterns.
    valgrind.args([
        "--tool=callgrind",
        "--toggle-collect=*instructions::counted*",
        "--dump-after=*::counted*",
    ]);
    valgrind.arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.arg(env::current_exe()?).arg(format!("--once={number}"));
    let output = valgrind.output().context("cannot start valgrind")?;
    ensure!(output.status.success(), "valgrind: {}", String::from_utf8_lossy(&output.stderr));
    let each =
        |part: u32| total(&out.with_extension(part.to_string())).map(|total| total / f64::from(MEMBERS));
    let counted = Instructions { insert: each(1), non_member: each(2), member: each(3), remove: each(4) };
    fs::remove_dir_all(&directory)?;
    Ok(counted)
}

/// The sum of one dump. Nothing was counted where there is none.
fn total(dump: &Path) -> Option<f64> {
    let text = fs::read_to_string(dump).ok()?;
    let totals =
        text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    totals?.trim().parse().ok().filter(|&total| total > 0.0)
}

/// What valgrind runs.
pub fn do_once(number: usize) -> Result<()> {
    let work = Work { members: crowd::members(MEMBERS), non_members: crowd::non_members(MEMBERS).collect() };
    Subjects::all().get(number).context("there is no such subject")?.once(&work);
    Ok(())
}

/// Everything that a subject can do, in the order of the dumps.
pub fn perform<S: Subject>(work: &Work) {
    let mut filter = None;
    counted(&mut || filter = Some(S::of(&work.members)));
    let mut filter = filter.expect("it was just made");
    for keys in [&work.non_members, &work.members] {
        counted(&mut || _ = black_box(keys.iter().filter(|&&key| filter.contains(key)).count()));
    }
    if S::CHANGES == Changes::Both {
        counted(&mut || work.members.iter().for_each(|&member| filter.remove(member)));
    }
}

/// Callgrind counts in here.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    black_box(());
}
