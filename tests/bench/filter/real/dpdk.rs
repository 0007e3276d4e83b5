//! DPDK's tables, by a program of the benchmark's own (`dpdk.c`) that `cargo xtask bench filter` has built.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use filter_common::target::Target;
use nix::sched::sched_getcpu;

use super::Sample;
use super::lists::List;

/// The program, or why there is none.
pub enum Dpdk {
    There(PathBuf),
    Missing(String),
}

/// What it told of one list.
#[derive(Default)]
pub struct Told {
    pub samples: Vec<Sample>,
    /// Which tables could not be made, and why.
    pub missing: Vec<String>,
}

impl Dpdk {
    /// Measures a list once. What it finds must be what is there.
    pub fn samples(&self, list: &List) -> Result<Told> {
        let Self::There(program) = self else { return Ok(Told::default()) };
        let processor = sched_getcpu()?.to_string();
        let mut child = Command::new(program)
            .arg(processor)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut input = child.stdin.take().context("it has an input")?;
        input.write_all(&words(list)).context("DPDK's tables do not read their list to the end")?;
        drop(input);
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "DPDK's tables failed ({})", output.status);
        let mut told = Told::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            match line.split_once(" - ") {
                Some((table, why)) => told.missing.push(format!("{table} ({why})")),
                None => told.samples.push(sample(line, list)?),
            }
        }
        Ok(told)
    }
}

/// As `dpdk.c` says.
fn words(list: &List) -> Vec<u8> {
    let family = if list.is_six { 6 } else { 4 };
    let sources = list.kinds.first().map_or(0, |kind| kind.sources.len());
    let head = [family, list.targets.len() as u64, list.kinds.len() as u64, sources as u64];
    let halves = |address: u128| [(address >> 64) as u64, address as u64];
    let prefix = |target: &Target| {
        let (address, length) = match target {
            Target::V4(prefix) => (prefix.address().into(), prefix.length()),
            Target::V6(prefix) => (prefix.address(), prefix.length()),
        };
        halves(address).into_iter().chain([length.into()])
    };
    let prefixes = list.targets.iter().flat_map(prefix);
    let sources = list.kinds.iter().flat_map(|kind| &kind.sources).flat_map(|&source| halves(source));
    head.into_iter().chain(prefixes).chain(sources).flat_map(u64::to_le_bytes).collect()
}

fn sample(line: &str, list: &List) -> Result<Sample> {
    let told = || format!("DPDK's tables say: {line}");
    let mut words = line.split_whitespace();
    let table = words.next().with_context(told)?.replace(',', ", ").replace('-', " ");
    let mut next = || words.next().with_context(told);
    let (insert, bytes) = (next()?.parse().with_context(told)?, next()?.parse().with_context(told)?);
    let mut lookups = Vec::new();
    for kind in &list.kinds {
        lookups.push(next()?.parse().with_context(told)?);
        let found: usize = next()?.parse().with_context(told)?;
        ensure!(found == kind.listed, "{table} finds {found} of {} ({})", kind.listed, kind.from);
    }
    Ok(Sample { table, insert, lookups, bytes })
}
