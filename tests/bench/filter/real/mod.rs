//! Lists shaped like real ones: filterd's decision as a library, beside DPDK's tables of prefixes.
//!
//! `lists` says which lists there are and whose addresses are looked up, `own` holds them as filterd does, `dpdk` asks a
//! program built of DPDK's, and `report` tells what came out.

mod dpdk;
mod lists;
mod own;
mod report;

use anyhow::Result;
use filterd_measure::figures::Figures;
use pages::page::{Chapter, Page};

pub use dpdk::Dpdk;
use lists::List;

/// What one table took once: nanoseconds.
pub struct Sample {
    table: String,
    insert: f64,
    /// By kind of sources, in the list's order.
    lookups: Vec<f64>,
    /// Of memory.
    bytes: u64,
}

/// What came out for one table.
struct Line {
    table: String,
    insert: Figures,
    lookups: Vec<Figures>,
    bytes: u64,
}

/// All lines of one list, and what could not be measured.
struct Of {
    list: List,
    lines: Vec<Line>,
    missing: Vec<String>,
}

/// That chapter alone.
pub fn page(machine: String, dpdk: &Dpdk, rounds: usize) -> Result<Page> {
    Ok(Page {
        title: "Real lists, as a library".to_owned(),
        command: "cargo xtask bench filter --real".to_owned(),
        machine,
        method: "Nanoseconds are the processor's.".to_owned(),
        chapters: vec![chapter(dpdk, rounds)?],
    })
}

/// Everybody takes turns, so many times. What DPDK's tables say is compared with what is true, as is what filterd says.
pub fn chapter(dpdk: &Dpdk, rounds: usize) -> Result<Chapter> {
    let lists =
        List::all().into_iter().map(|list| measure(list, dpdk, rounds)).collect::<Result<Vec<_>>>()?;
    Ok(report::chapter(&lists, dpdk))
}

fn measure(list: List, dpdk: &Dpdk, rounds: usize) -> Result<Of> {
    let (mut samples, mut missing) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        eprint!("\r{}: round {} of {rounds} ", list.name, round + 1);
        samples.push(own::sample(&list)?);
        let told = dpdk.samples(&list)?;
        samples.extend(told.samples);
        missing = told.missing;
    }
    eprintln!();
    let mut names: Vec<String> = Vec::new();
    for sample in &samples {
        if !names.contains(&sample.table) {
            names.push(sample.table.clone());
        }
    }
    let lines = names.into_iter().map(|name| line(name, &samples)).collect();
    Ok(Of { list, lines, missing })
}

fn line(table: String, samples: &[Sample]) -> Line {
    let own: Vec<&Sample> = samples.iter().filter(|sample| sample.table == table).collect();
    let figures = |of: &dyn Fn(&Sample) -> f64| Figures::of(own.iter().map(|sample| of(sample)).collect());
    Line {
        insert: figures(&|sample| sample.insert),
        lookups: (0..own[0].lookups.len()).map(|kind| figures(&|sample| sample.lookups[kind])).collect(),
        bytes: own[0].bytes,
        table,
    }
}
