//! What was aimed at with a million entries, and whether it holds here.

use filterd_measure::tables::Table;

use crate::plan::{Pace, Peer, Senders, Spec};
use crate::report::Report;

const ENTRIES: u32 = 1_000_000;

/// At least so many times what filterd costs above parsing do these cost, for a miss.
const TIMES: [(Pace, Peer, f64); 6] = [
    (Pace::Overlapping, Peer::Hash, 14.0),
    (Pace::Overlapping, Peer::XdpFilter, 14.0),
    (Pace::Overlapping, Peer::Trie, 100.0),
    (Pace::Alone, Peer::Hash, 12.0),
    (Pace::Alone, Peer::XdpFilter, 15.0),
    (Pace::Alone, Peer::Trie, 50.0),
];

/// Goal, measured, holds.
pub fn table(report: &Report<'_>) -> Table {
    let above = |peer, senders, pace| {
        let found = report.find(Spec { peer, entries: ENTRIES }, senders, pace)?;
        Some(found.above_parsing.median)
    };
    let miss = |peer, pace| above(peer, Senders::Unlisted, pace);
    let own = |pace| miss(Peer::Filterd, pace);
    let times = TIMES.into_iter().filter_map(|(pace, rival, least)| {
        let measured = miss(rival, pace)? / own(pace)?;
        Some(row(format!("{pace}: {rival} ÷ filterd ≥ {least}"), measured, measured >= least))
    });
    let floor = own(Pace::Alone).zip(miss(Peer::Load, Pace::Alone)).map(|(own, load)| {
        row(format!("{}: filterd ÷ {} ≤ 1.6", Pace::Alone, Peer::Load), own / load, own / load <= 1.6)
    });
    let hits = [Pace::Overlapping, Pace::Alone].into_iter().filter_map(|pace| {
        let measured = above(Peer::Filterd, Senders::Listed, pace)? / own(pace)?;
        Some(row(format!("{pace}: a hit ÷ a miss ≤ 1"), measured, measured <= 1.0))
    });
    Table {
        title: "Goals, at a million entries".to_owned(),
        heads: ["goal", "measured", "holds"].map(str::to_owned).into(),
        rows: times.chain(floor).chain(hits).collect(),
    }
}

fn row(goal: String, measured: f64, holds: bool) -> Vec<String> {
    vec![goal, format!("{measured:.2}"), if holds { "yes" } else { "no" }.to_owned()]
}
