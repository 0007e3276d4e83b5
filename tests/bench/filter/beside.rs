//! A program of the reader's that measures what cannot be built here, such as a C++ library.
//!
//! It is started once a round, without arguments, and reads numbers of 64 bits, lowest byte first: how many members,
//! lookups and non-members there are; the members; three times the lookups (without members, with every second one, with
//! nobody else); the non-members. It prints a line for each of its filters, words apart by blanks: its name (no blanks);
//! nanoseconds for an insert, a lookup of each of the three kinds and a delete (`-` if it cannot); bits of memory;
//! members not found; non-members found.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::crowd;
use crate::sample::{Errors, Sample, Tasks};

/// The program.
pub struct Beside<'a>(&'a Path);

impl<'a> Beside<'a> {
    pub const fn new(program: &'a Path) -> Self {
        Self(program)
    }

    /// What it measured in one round, by name.
    pub fn samples(&self, tasks: &Tasks) -> Result<Vec<(String, Sample)>> {
        let name = self.0.display();
        let mut command = Command::new(self.0);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let mut input = child.stdin.take().context("it has no input")?;
        input
            .write_all(&told(tasks))
            .with_context(|| format!("{name} does not read its input to the end"))?;
        drop(input);
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{name} failed ({})", output.status);
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().map(|line| parse(line).with_context(|| format!("{name} says: {line}")));
        lines.collect()
    }
}

fn told(tasks: &Tasks) -> Vec<u8> {
    let counts = [tasks.members.len() as u64, tasks.lookups[0].len() as u64, tasks.non_members.into()];
    let lookups = tasks.lookups.iter().flatten();
    let numbers = counts.iter().chain(&tasks.members).chain(lookups).copied();
    numbers.chain(crowd::non_members(tasks.non_members)).flat_map(u64::to_le_bytes).collect()
}

fn parse(line: &str) -> Option<(String, Sample)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, insert, none, half, all, remove, bits, lost, found] = words[..] else { return None };
    let number = |word: &str| word.parse::<f64>().ok();
    let sample = Sample {
        insert: number(insert)?,
        lookups: [number(none)?, number(half)?, number(all)?],
        remove: if remove == "-" { None } else { Some(number(remove)?) },
        bits: bits.parse().ok()?,
        errors: Some(Errors { lost: lost.parse().ok()?, found: found.parse().ok()? }),
    };
    Some((name.to_owned(), sample))
}
