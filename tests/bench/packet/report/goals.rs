//! What was aimed at with a million entries, and whether it holds here.

use filterd_measure::figures::Figures;
use filterd_measure::goals::{self, Goal};
use pages::page::Chapter;

use super::Report;
use crate::peer::{FLOORS, Feature, OWN, Peer};
use crate::plan::{Pace, Senders, Spec, USUAL};

/// At least so many times what filterd costs above parsing do these cost, for a miss.
const TIMES: [(Pace, Peer, f64); 6] = [
    (Pace::Overlapping, Peer::Hash, 14.0),
    (Pace::Overlapping, Peer::XdpFilter, 14.0),
    (Pace::Overlapping, Peer::Trie, 100.0),
    (Pace::Alone, Peer::Hash, 12.0),
    (Pace::Alone, Peer::XdpFilter, 15.0),
    (Pace::Alone, Peer::Trie, 50.0),
];

/// The same with prefixes of both families beside the addresses, and with everything else, too.
const TIMES_BOTH: [(Peer, f64); 2] = [(Peer::Hash, 8.0), (Peer::Trie, 50.0)];

pub fn chapter(report: &Report<'_>) -> Chapter {
    let goals = times(report).chain(times_both(report)).chain(floor(report)).chain(hits(report));
    Chapter {
        title: "Goals".to_owned(),
        words: "Nanoseconds above parsing at a million entries, for unlisted packets unless a row says \
                otherwise."
            .to_owned(),
        tables: vec![goals::table("Goals", goals)],
        remark: "A guard is an allow list, so the lines with everything have one, too.".to_owned(),
        ..Chapter::default()
    }
}

fn times<'a>(report: &'a Report<'_>) -> impl Iterator<Item = Goal> + 'a {
    TIMES.into_iter().filter_map(|(pace, rival, least)| {
        let measured = miss(report, rival, pace)? / miss(report, OWN, pace)?;
        Some(Goal::least(&format!("{pace}: {rival} ÷ filterd"), measured, least))
    })
}

fn times_both<'a>(report: &'a Report<'_>) -> impl Iterator<Item = Goal> + 'a {
    let own = [Feature::Both, Feature::Everything].map(Peer::Filterd);
    let each = own.into_iter().flat_map(|own| Pace::ALL.map(|pace| (own, pace)));
    let each = each.flat_map(|(own, pace)| TIMES_BOTH.map(|(rival, least)| (own, pace, rival, least)));
    each.filter_map(|(own, pace, rival, least)| {
        let measured = miss(report, rival, pace)? / miss(report, own, pace)?;
        Some(Goal::least(&format!("{pace}: {rival} ÷ {own}"), measured, least))
    })
}

fn floor<'a>(report: &'a Report<'_>) -> impl Iterator<Item = Goal> + 'a {
    let paces = [(Pace::Overlapping, 2.2), (Pace::Alone, 1.6)];
    let each = FLOORS.into_iter().flat_map(move |floor| paces.map(|(pace, most)| (floor, pace, most)));
    each.filter_map(|(floor, pace, most)| {
        let [own, load] = [OWN, floor].map(|peer| miss(report, peer, pace));
        Some(Goal::most(&format!("{pace}: filterd ÷ {floor}"), own? / load?, most))
    })
}

fn hits<'a>(report: &'a Report<'_>) -> impl Iterator<Item = Goal> + 'a {
    Pace::ALL.into_iter().filter_map(|pace| {
        let of = |senders| report.find(Spec { peer: OWN, entries: USUAL }, senders, pace);
        let (hits, misses) = (of(Senders::Listed)?, of(Senders::Unlisted)?);
        let rounds = hits.each_above_parsing.iter().zip(&misses.each_above_parsing);
        let ratio = Figures::of(rounds.map(|(hit, miss)| hit / miss).collect()).median;
        Some(Goal::most(&format!("{pace}: a hit ÷ a miss of the same table"), ratio, 1.0))
    })
}

fn miss(report: &Report<'_>, peer: Peer, pace: Pace) -> Option<f64> {
    report.above(Spec { peer, entries: USUAL }, Senders::Unlisted, pace)
}
