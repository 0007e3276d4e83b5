//! Lists shaped like real ones: filterd beside BPF tries of the same lists, with sources that meet them in every way.
//!
//! `lists` says which lists there are and who sends, `contender` loads them, `lengths` as
//! filterd looked IPv6 up before, `told` sends, `turns` takes everybody in
//! turn, `report` and `goals` tell what came out, as chapters of the page of `bench packet`.

mod contender;
mod goals;
mod lengths;
mod lists;
mod report;
mod told;
mod turns;

use anyhow::{Context, Result};
use filterd_measure::figures::Figures;
use filterd_measure::machine;
use pages::page::{Chapter, Page};
use real::sources::From;

use crate::plan::{Amount, Pace, amount};
use crate::subject::Stage;

pub use contender::Who;
use lists::{List, Name};

/// How thoroughly.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    names: &'static [Name],
    rounds: usize,
    warm: Amount,
    packets: Amount,
}

/// In which manner packets come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// From everybody in turn.
    Spread(Pace),
    /// As they come, all of one source, which is another one in every round.
    Hot,
}

/// What came out for one way to meet one list.
#[derive(Debug)]
pub struct Line {
    list: Name,
    from: From,
    manner: Manner,
    who: Who,
    /// Nanoseconds above parsing.
    above: Figures,
}

/// Everything that came out, and of how many prefixes which lists are.
#[derive(Debug)]
pub struct Outcome {
    extent: Extent,
    lists: Vec<(Name, usize)>,
    lines: Vec<Line>,
}

impl Manner {
    const ALL: [Self; 3] = [Self::Spread(Pace::Overlapping), Self::Spread(Pace::Alone), Self::Hot];
}

impl Extent {
    /// Of a usual or a `short` run.
    pub const fn new(short: bool) -> Self {
        match short {
            true => Self {
                names: &Name::SHORT,
                rounds: 3,
                warm: amount(300_000, 20),
                packets: amount(200_000, 20),
            },
            false => {
                Self { names: &Name::ALL, rounds: 7, warm: amount(600_000, 60), packets: amount(500_000, 60) }
            }
        }
    }
}

/// Measures.
pub fn run(stage: &Stage<'_>, extent: Extent) -> Result<Outcome> {
    let (mut lists, mut lines) = (Vec::new(), Vec::new());
    for &name in extent.names {
        let list = List::new(name);
        eprintln!("{name}");
        lists.push((name, list.len()));
        lines.extend(turns::run(&list, &extent, stage).with_context(|| format!("with {name}"))?);
    }
    Ok(Outcome { extent, lists, lines })
}

/// What is told of these lists alone.
pub fn page(outcome: &Outcome) -> Page {
    Page {
        title: "Packets that meet real lists".to_owned(),
        command: "cargo xtask bench packet --real".to_owned(),
        machine: machine::describe(),
        method: "Programs run with BPF_PROG_TEST_RUN.".to_owned(),
        chapters: outcome.chapters().into(),
    }
}

impl Outcome {
    /// What is told of it.
    pub fn chapters(&self) -> [Chapter; 2] {
        [report::chapter(self), goals::chapter(self)]
    }

    fn above(&self, list: Name, from: From, manner: Manner, who: Who) -> Option<f64> {
        Some(self.line(list, from, manner, who)?.above.median)
    }

    fn line(&self, list: Name, from: From, manner: Manner, who: Who) -> Option<&Line> {
        let is_it =
            |line: &&Line| line.list == list && line.from == from && line.manner == manner && line.who == who;
        self.lines.iter().find(is_it)
    }
}
