//! What came out of live frames.

use filterd_measure::figures::Figures;
use filterd_measure::goals::{self, Goal};
use filterd_measure::machine;
use filterd_measure::tables::{Table, grouped};
use pages::page::{Chapter, Page};

use super::Outcome;
use super::contender::Contender;
use crate::plan::Amount;

/// How it was measured.
#[derive(Debug)]
pub struct Method {
    pub rounds: usize,
    pub frames: Amount,
    pub entries: u32,
    pub flood: u32,
}

/// What is told.
pub fn page(outcomes: &[Outcome], method: &Method) -> Page {
    Page {
        title: "Frames on a wire".to_owned(),
        command: "cargo xtask bench live".to_owned(),
        machine: machine::describe(),
        method: said(method),
        chapters: vec![
            Chapter::of(
                "Frames",
                "Nanoseconds of processor time for one frame, until it is dropped or has \
                                   arrived.",
                costs(outcomes),
            ),
            Chapter::of(
                "Ordinary buffers",
                "The same for frames in socket buffers as drivers without XDP make them. A packet socket sends them. For \
                                   native XDP, veth copies each such frame; a network card does not.",
                ordinary(outcomes),
            ),
            Chapter::of(
                "TCP streams",
                "The rate of one TCP stream from an unlisted host over the same wire, which passes large segments whole.",
                streams(outcomes),
            ),
            Chapter::of("Goals", "Of medians.", goals::table("Goals", goals(outcomes))),
        ],
    }
}

fn said(method: &Method) -> String {
    format!(
        "Each filter protects a host of its own, and the hosts take turns in {} rounds. In each turn {} \
         arrive from listed sources at random, as many from {} of these, and as many from other sources. They \
         come over a veth pair with one queue. {} addresses are listed. A figure is the processor time for \
         one frame in nanoseconds, sending and receiving together. Figures are medians; brackets hold the \
         middle half of the rounds. Frames that pass have no route and end there. In the row `watched`, \
         filterd reports drops in full, for `metrics.sources`.",
        method.rounds,
        method.frames.told("frames"),
        grouped(method.flood.into()),
        grouped(method.entries.into())
    )
}

fn costs(outcomes: &[Outcome]) -> Table {
    let drop_all = listed(outcomes, Contender::DropAll);
    let row = |outcome: &Outcome| {
        vec![
            outcome.of.to_string(),
            cell(outcome.listed),
            format!("{:.2}", outcome.listed.median / drop_all),
            cell(outcome.flood),
            cell(outcome.unlisted),
            if drops_all(outcome) { String::new() } else { cell(outcome.added) },
        ]
    };
    let heads = [
        "filter",
        "a listed frame",
        "÷ dropping all",
        "one of a few listed",
        "another frame",
        "added by the filter",
    ];
    Table {
        title: "Nanoseconds a frame".to_owned(),
        heads: heads.map(str::to_owned).into(),
        rows: outcomes.iter().map(row).collect(),
    }
}

fn ordinary(outcomes: &[Outcome]) -> Table {
    let row = |outcome: &Outcome| {
        let added = if drops_all(outcome) { String::new() } else { cell(outcome.ordinary_added) };
        vec![outcome.of.to_string(), cell(outcome.ordinary_listed), added]
    };
    Table {
        title: "Nanoseconds a frame in an ordinary buffer".to_owned(),
        heads: ["filter", "a listed frame", "added to another frame"].map(str::to_owned).into(),
        rows: outcomes.iter().map(row).collect(),
    }
}

fn drops_all(outcome: &Outcome) -> bool {
    matches!(outcome.of, Contender::DropAll | Contender::DropAllTc)
}

fn streams(outcomes: &[Outcome]) -> Table {
    let nobody = stream(outcomes, Contender::Nobody);
    let row = |outcome: &Outcome| {
        let figures = outcome.stream?;
        Some(vec![
            outcome.of.to_string(),
            format!("{:.1} ({:.1}…{:.1})", figures.median, figures.low, figures.high),
            format!("{:.0} %", 100.0 * figures.median / nobody),
        ])
    };
    Table {
        title: "Rate of a TCP stream".to_owned(),
        heads: ["filter", "Gbit/s", "of an unfiltered one"].map(str::to_owned).into(),
        rows: outcomes.iter().filter_map(row).collect(),
    }
}

fn stream(outcomes: &[Outcome], of: Contender) -> f64 {
    find(outcomes, of).stream.map_or(f64::NAN, |figures| figures.median)
}

fn cell(figures: Figures) -> String {
    format!("{:.0} ({:.0}…{:.0})", figures.median, figures.low, figures.high)
}

/// What was aimed at, and whether it holds here.
fn goals(outcomes: &[Outcome]) -> Vec<Goal> {
    use Contender::{
        DropAll, DropAllTc, Filterd, FilterdTc, FilterdTotal, FilterdWatched, Hash, Ipset, NftIngress,
        NftPrerouting, XdpFilter,
    };
    let own = listed(outcomes, Filterd);
    let added = |of| find(outcomes, of).added.median;
    let least = |(rival, factor)| {
        Goal::least(&format!("a listed frame: {rival} ÷ filterd"), listed(outcomes, rival) / own, factor)
    };
    let share = |rival: Contender| {
        let measured = added(rival) / added(Filterd);
        Goal::least(&format!("added to other frames: {rival} ÷ filterd"), measured, 3.0)
    };
    let drop_all = listed(outcomes, FilterdTotal) / listed(outcomes, DropAll);
    let mut goals = vec![Goal::most(&format!("a listed frame: {FilterdTotal} ÷ {DropAll}"), drop_all, 1.35)];
    let flood = |of| find(outcomes, of).flood.median;
    goals.extend([Filterd, FilterdWatched].map(|own| {
        let few = flood(own) / flood(DropAll);
        Goal::most(&format!("a frame of a few listed: {own} ÷ {DropAll}"), few, 1.35)
    }));
    let rivals = [(XdpFilter, 5.0), (NftIngress, 5.0), (NftPrerouting, 5.0), (Ipset, 5.0), (Hash, 3.0)];
    goals.extend(rivals.map(least));
    goals.push(Goal::most("added to other frames, ns", added(Filterd), 70.0));
    goals.extend([Hash, XdpFilter, NftIngress, NftPrerouting, Ipset].map(share));
    let of_ordinary = |of| find(outcomes, of);
    let dropping =
        of_ordinary(FilterdTc).ordinary_listed.median / of_ordinary(DropAllTc).ordinary_listed.median;
    let passing =
        of_ordinary(FilterdTc).ordinary_added.median / of_ordinary(NftIngress).ordinary_added.median;
    let share = stream(outcomes, FilterdTc) / stream(outcomes, Contender::Nobody);
    goals.push(Goal::least(&format!("a TCP stream: {FilterdTc} ÷ no filter"), share, 0.9));
    goals.push(Goal::most(
        &format!("ordinary buffers, a listed frame: {FilterdTc} ÷ dropping all in TC"),
        dropping,
        1.15,
    ));
    goals.push(Goal::most(&format!("ordinary buffers, added: {FilterdTc} ÷ {NftIngress}"), passing, 0.6));
    goals
}

fn listed(outcomes: &[Outcome], of: Contender) -> f64 {
    find(outcomes, of).listed.median
}

fn find(outcomes: &[Outcome], of: Contender) -> &Outcome {
    outcomes.iter().find(|outcome| outcome.of == of).expect("all of them were measured")
}
