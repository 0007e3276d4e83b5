//! What it takes to have a list: how long until it filters, how much memory of the kernel it holds, how long one more
//! address takes, and a million more under a flood. Each contender has a network namespace of its own; all take their turns.

mod bulk;
mod echo;
mod filterd;
mod goals;
mod kernel;
mod report;
mod scrape;
mod six;
mod size;
mod tools;
mod waits;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use filterd_measure::figures::Figures;
use pages::page::Page;

use crate::subject::Stage;

use echo::Echo;
use report::{Fill, Single};

/// What is measured, how often.
#[derive(Debug)]
struct Extent {
    sizes: &'static [u32],
    /// How often each list is loaded.
    loads: usize,
    /// How often one address is added.
    singles: u32,
    /// How often a million change at once.
    bulks: usize,
}

const SHORT: Extent = Extent { sizes: &[100, 100_000, 1_000_000], loads: 3, singles: 21, bulks: 1 };
const USUAL: Extent =
    Extent { sizes: &[100, 100_000, 1_000_000, 10_000_000], loads: 5, singles: 101, bulks: 5 };

/// Measures.
pub fn run(stage: &Stage<'_>, short: bool) -> Result<Page> {
    let extent = if short { SHORT } else { USUAL };
    let (mut fills, mut singles) = (Vec::new(), Vec::new());
    for &entries in extent.sizes {
        eprintln!("{entries} entries");
        // The largest list takes some of them a minute.
        let loads = if entries > 1_000_000 { 1 } else { extent.loads };
        let mut rounds = Vec::new();
        for _ in 0..loads {
            rounds.push([filterd::fills(entries)?, tools::fills(entries)?].concat());
        }
        fills.extend(report::merged(&rounds));
        fills.extend(kernel::fills(stage, entries)?);
        singles.extend(single(entries, extent.singles)?);
    }
    eprintln!("changes in bulk");
    let bulks = bulk::measure(stage, extent.bulks)?;
    eprintln!("waits beside a reload");
    let waits = waits::measure()?;
    eprintln!("lists as large as operators have them");
    let size = Some(size::measure()?);
    eprintln!("monitoring");
    let scrape = Some(scrape::measure()?);
    let six = six::measure(short)?;
    Ok(report::page(&report::Outcome { fills, singles, bulks, waits, six, size, scrape }))
}

/// Measures lists of IPv6 alone.
pub fn run_six(short: bool) -> Result<Page> {
    let six = six::measure(short)?;
    Ok(report::page_of_six(&report::Outcome { six, ..report::Outcome::default() }))
}

/// Addresses that are added over one line without a pause.
const IN_A_ROW: usize = 21;

/// One more address to a list of so many: all ways in turn.
fn single(entries: u32, times: u32) -> Result<Vec<Single>> {
    let daemons = [true, false].map(|durable| filterd::holding(entries, durable));
    let tools = tools::holding(entries)?;
    let mut samples: Vec<(&str, Vec<f64>)> = Vec::new();
    let echo = Echo::new()?;
    // Whom nobody has listed yet.
    let mut pending = (entries + 1..).map(crate::lists::address);
    for _ in 0..times {
        let address = pending.next().context("there are more addresses")?;
        let others: Vec<String> = pending.by_ref().take(IN_A_ROW).collect();
        let commands = [
            ("a process that does nothing", tools.nothing()),
            ("filterd add, durable", daemons[0].command(&address)),
            ("filterd add, not durable", daemons[1].command(&address)),
            ("ipset add", tools.ipset(&address)),
            ("nft add element", tools.nft(&address)),
        ];
        let echo = echo.call()?;
        let (durable, fast) = (daemons[0].calls(&others)?, daemons[1].calls(&others)?);
        let calls = [
            ("socket, durable", durable[1..].to_vec()),
            ("socket, durable, after a pause", durable[..1].to_vec()),
            ("socket, not durable", fast[1..].to_vec()),
            ("socket, not durable, after a pause", fast[..1].to_vec()),
            ("a thread that only echoes, after a pause", vec![echo]),
            ("a new instance into its slot", vec![daemons[0].switch(&daemons[1])?]),
        ];
        let each = commands.into_iter().map(|(name, took)| (name, vec![took])).chain(calls);
        for (at, (name, took)) in each.enumerate() {
            if samples.len() <= at {
                samples.push((name, Vec::new()));
            }
            samples[at].1.extend(took.iter().map(|took| took.as_secs_f64() * 1e6));
        }
    }
    let row = |(way, samples): (&'static str, _)| Single { way, entries, microseconds: Figures::of(samples) };
    Ok(samples.into_iter().map(row).collect())
}

fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    (act(), begun.elapsed())
}
