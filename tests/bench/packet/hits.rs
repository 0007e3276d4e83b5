//! What a listed packet costs beside a miss of the same table, what it costs more where it counts for its list, and what more
//! while somebody watches drops.

use anyhow::{Context, Result, ensure};
use filter_common::labels::Counters;
use filter_common::target::{Prefix4, Prefix6, Target};
use filterd::blocklist::{Blocklist, Change, Polarity, Settings, Targets, Timestamp, Want};
use filterd_measure::figures::Figures;
use filterd_measure::goals::{self, Goal};
use filterd_measure::machine;
use filterd_measure::tables::{Table, grouped};
use pages::page::{Chapter, Page};

use crate::crowd;
use crate::filterd::Filterd;
use crate::peer::Peer;
use crate::plan::{Amount, Pace, amount};
use crate::rounds;
use crate::sender::{self, Kind, Sender};
use crate::subject::Stage;

/// By what a packet is listed, and how many of these there are.
const KINDS: [Listed; 4] = [
    Listed { by: "IPv4 address", count: 1_000_000, sender: Kind::Four },
    Listed { by: "IPv4 /24", count: 100_000, sender: Kind::Four },
    Listed { by: "IPv6 /64", count: 1_000_000, sender: Kind::Six },
    Listed { by: "IPv6 /32", count: 1_000, sender: Kind::Six },
];

/// A flood from so many, of the first kind, is compared with dropping all.
const FLOOD: u32 = 10_000;

#[derive(Clone, Copy, Debug)]
struct Listed {
    by: &'static str,
    count: u32,
    sender: Kind,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Senders {
    /// One and the same.
    One,
    /// All that are listed, at random.
    All,
}

/// What came out for one kind, senders and pace: without and with counters for lists, and with these while drops are sampled.
#[derive(Debug)]
struct Row {
    of: Listed,
    senders: Senders,
    pace: Pace,
    total: Figures,
    lists: Figures,
    more: Figures,
    sampled: Figures,
}

/// All of it.
#[derive(Debug)]
pub struct Hits {
    rows: Vec<Row>,
    /// A flood from [`FLOOD`] sources that count for lists ÷ the same frames dropped unseen.
    flood: Figures,
    /// The same while drops are sampled.
    watched: Figures,
    rounds: usize,
}

/// Measures all of them.
pub fn measure(stage: &Stage<'_>, short: bool) -> Result<Hits> {
    let rounds = if short { 7 } else { 15 };
    let (warm, packets) = (amount(500_000, 40), amount(500_000, 50));
    rounds::stay_here()?;
    let [flood, watched] = flood(stage, rounds, (warm, packets))?;
    let mut hits = Hits { rows: Vec::new(), flood, watched, rounds };
    for of in KINDS {
        hits.rows.extend(rows(stage, of, rounds, (warm, packets))?);
    }
    Ok(hits)
}

fn rows(stage: &Stage<'_>, of: Listed, rounds: usize, amounts: (Amount, Amount)) -> Result<Vec<Row>> {
    let ways: Vec<(Senders, Pace)> =
        [Senders::One, Senders::All].into_iter().flat_map(|who| Pace::ALL.map(|pace| (who, pace))).collect();
    let mut samples = vec![[const { Vec::new() }; 4]; ways.len()];
    let limit = if of.sender == Kind::Six { Peer::ParseSix } else { Peer::Parse };
    for round in 0..rounds {
        eprint!("\r{}: round {} of {rounds} ", of.by, round + 1);
        // Where in memory tables lie is a matter of chance.
        let parse = stage.subject(&crate::plan::Spec { peer: limit, entries: 0 })?;
        let [total, lists] = [Counters::Total, Counters::Lists].map(|counters| blocking(of, counters));
        let (total, lists) = (total?, lists?);
        let mut watched = blocking(of, Counters::Lists)?.watched()?;
        for ((senders, pace), samples) in ways.iter().zip(&mut samples) {
            let mut sender = Sender::load(of.sender, *pace, stage)?;
            let subjects = [parse.entry()?, total.entry()?, lists.entry()?, watched.entry()?];
            for (subject, samples) in subjects.into_iter().zip(samples) {
                sender.aim_at(subject, of.numbers(*senders))?;
                samples.push(timed(&mut sender, amounts)?);
            }
            ensure!(watched.read() > 0, "somebody watches, and nothing was told");
        }
    }
    eprintln!();
    Ok(ways
        .iter()
        .zip(&samples)
        .map(|((senders, pace), samples)| row(of, *senders, *pace, samples))
        .collect())
}

fn row(of: Listed, senders: Senders, pace: Pace, [parse, total, lists, watched]: &[Vec<f64>; 4]) -> Row {
    let above = |of: &[f64], floor: &[f64]| {
        Figures::of(of.iter().zip(floor).map(|(own, floor)| own - floor).collect())
    };
    Row {
        of,
        senders,
        pace,
        total: above(total, parse),
        lists: above(lists, parse),
        more: above(lists, total),
        sampled: above(watched, lists),
    }
}

/// All that a packet costs counts here, the sender's part too, as it does on a wire. While nobody watches, and while somebody
/// does.
fn flood(stage: &Stage<'_>, rounds: usize, amounts: (Amount, Amount)) -> Result<[Figures; 2]> {
    let of = Listed { count: FLOOD, ..KINDS[0] };
    let mut ratios = [const { Vec::new() }; 2];
    for _ in 0..rounds {
        let drop_all = stage.load("bench_drop", &mut aya::EbpfLoader::new())?;
        let dropped: &aya::programs::Xdp =
            drop_all.program("bench_drop").context("it is loaded")?.try_into()?;
        let (lists, watched) = (blocking(of, Counters::Lists)?, blocking(of, Counters::Lists)?.watched()?);
        let mut sender = Sender::load(of.sender, Pace::Overlapping, stage)?;
        let mut cost = |program| {
            sender.aim_at(program, of.numbers(Senders::All))?;
            timed(&mut sender, amounts)
        };
        let [lists, watched, dropped] =
            [cost(lists.entry()?)?, cost(watched.entry()?)?, cost(dropped.fd()?)?];
        ratios[0].push(lists / dropped);
        ratios[1].push(watched / dropped);
    }
    Ok(ratios.map(Figures::of))
}

fn timed(sender: &mut Sender, (warm, packets): (Amount, Amount)) -> Result<f64> {
    let cost = sender.run(sender::FEW, sender::FEW)?;
    sender.run(warm.at(cost), packets.at(cost))
}

/// A filterd that blocks them, half of them by one list and half by another.
fn blocking(of: Listed, counters: Counters) -> Result<Filterd> {
    let mut blocklist = Blocklist::default();
    blocklist
        .apply(&Change::Settings(Settings { counters, ..Settings::default() }), Timestamp::from_secs(0))?;
    for list in 0..2 {
        let targets: Targets = (list..of.count).step_by(2).map(|number| of.target(number)).collect();
        let want = Want::live(format!("list{list}"), Polarity::Block, targets);
        blocklist.apply(&Change::Want(want), Timestamp::from_secs(0))?;
    }
    Filterd::enforcing(&blocklist)
}

impl Listed {
    fn target(self, number: u32) -> Target {
        let six = |length| Prefix6::covering(u128::from(crowd::network(number)) << 64, length).into();
        match self.by {
            "IPv4 address" => Prefix4::host(crowd::address(number)).into(),
            "IPv4 /24" => Prefix4::covering(crowd::address(number), 24).into(),
            "IPv6 /64" => six(64),
            _ => six(32),
        }
    }

    /// The first of the crowd's numbers, and how many of them.
    const fn numbers(self, senders: Senders) -> (u64, u64) {
        match senders {
            Senders::One => (1, 1),
            Senders::All => (0, self.count as u64),
        }
    }
}

impl Hits {
    /// Only these.
    pub fn page(&self) -> Page {
        Page {
            title: "What a listed packet costs".to_owned(),
            command: "cargo xtask bench packet".to_owned(),
            machine: machine::describe(),
            method: format!(
                "BPF_PROG_TEST_RUN, {} rounds, in each of which all tables are made anew.",
                self.rounds
            ),
            chapters: vec![self.chapter()],
        }
    }

    /// For the page.
    pub fn chapter(&self) -> Chapter {
        Chapter {
            title: "Listed packets, and which list they count for".to_owned(),
            words: format!(
                "Nanoseconds above the program that only parses: medians of {} rounds, with their middle half \
                 in brackets. Half of the entries are on one list, half on another. One sender repeats the \
                 same packet; all senders are all listed addresses, at random. In the last column `filterd \
                 watch --drops`, `filterd top` or `metrics.sources` runs, so some drops are reported in full.",
                self.rounds
            ),
            tables: vec![self.table(), goals::table("Goals of listed packets", self.goals())],
            ..Chapter::default()
        }
    }

    fn table(&self) -> Table {
        let cell =
            |figures: &Figures| format!("{:+.1} ({:.1}…{:.1})", figures.median, figures.low, figures.high);
        let row = |row: &Row| {
            let who = match row.senders {
                Senders::One => "one".to_owned(),
                Senders::All => format!("all {}", grouped(row.of.count.into())),
            };
            let by = format!("{}, {who}, {}", row.of.by, row.pace);
            [by].into_iter().chain([&row.total, &row.lists, &row.more, &row.sampled].map(cell)).collect()
        };
        let heads =
            ["listed by, senders", "`counters: total`", "`counters: lists`", "more", "more while watched"];
        Table {
            title: "Nanoseconds for a listed packet".to_owned(),
            heads: heads.map(str::to_owned).into(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    fn goals(&self) -> impl Iterator<Item = Goal> + '_ {
        let flood = format!("a flood from {} that count for lists ÷ dropping all", grouped(FLOOD.into()));
        let overlapping = self.rows.iter().filter(|row| row.pace == Pace::Overlapping);
        let more = overlapping.filter_map(|row| {
            let limit = match row.senders {
                Senders::One => 3.0,
                Senders::All if row.of.count == KINDS[0].count => 25.0,
                Senders::All => return None,
            };
            let who = if row.senders == Senders::One { "one" } else { "all" };
            Some(Goal::most(&format!("ns more for lists: {}, {who}", row.of.by), row.more.median, limit))
        });
        let watched = format!("{flood}, while somebody watches");
        let floods = [(flood, &self.flood), (watched, &self.watched)];
        floods.map(|(what, ratio)| Goal::most(&what, ratio.median, 1.35)).into_iter().chain(more)
    }
}
