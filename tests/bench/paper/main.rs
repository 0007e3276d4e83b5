//! The evaluation of "Cuckoo Filter: Practically Better Than Bloom" (CoNEXT 2014), made again with the filters of
//! tests/paper, and beside it what the notes on cuckoo hashing say.
//!
//! `contenders` are the six filters of its table 3, and `life` is what happens to each of them; one file a chapter of
//! the page: `fill`, `space`, `construction`, `occupancy`, `nests`, `beside`. `cargo xtask bench paper` calls it.

#![forbid(unsafe_code)]

mod beside;
mod construction;
mod contenders;
mod fill;
mod keys;
mod life;
mod nests;
mod occupancy;
mod space;

use anyhow::Result;
use clap::Parser;
use filterd_measure::{machine, processor};
use pages::arguments::Arguments;
use pages::page::Page;

/// Measure what the paper measured.
#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() -> Result<()> {
    let arguments = Command::parse().arguments;
    let (effort, rounds) = (arguments.effort(), arguments.rounds());
    // Before the others, for it needs a second processor.
    let beside = beside::chapter(effort, rounds)?;
    processor::stay()?;
    let fill = fill::chapter(effort)?;
    let space = space::chapter(effort)?;
    let lives = life::all(effort, rounds)?;
    let mut chapters = vec![fill, space, construction::chapter(effort, &lives)];
    chapters.extend(occupancy::chapters(&lives));
    chapters.extend([nests::chapter(effort, rounds)?, beside]);
    let page = Page {
        title: "The paper's tables, made again".to_owned(),
        command: "cargo xtask bench paper".to_owned(),
        machine: machine::describe(),
        method: format!(
            "Filters and tables are those of tests/paper, on one thread; keys are random 64-bit numbers, and all filters \
             hash them by the same function. Times are the processor's, medians over {rounds} round(s), in each of which all \
             took their turn. The paper used a Xeon L5640 with 12 MB of cache, and filters of 192 MB; ours are {} MiB.",
            contenders::mebibytes(effort)
        ),
        chapters,
    };
    page.tell(&arguments)
}
