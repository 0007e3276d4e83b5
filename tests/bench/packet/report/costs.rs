//! What a packet costs by the number of entries, as a table and as a plot.

use filterd_measure::figures::Figures;
use filterd_measure::tables::{Table, grouped};
use pages::page::Chapter;
use pages::plot::{Axis, Line, Plot, Scale};

use super::Report;
use crate::peer::{Feature, OWN, Peer, RIVALS};
use crate::plan::{Pace, Senders, Spec};

/// In the order in which they are told. Of those who do not tell senders apart only one line is there.
fn lines() -> Vec<(Peer, Senders)> {
    let first =
        [Peer::Parse, Peer::ParseSix, Peer::Load, Peer::LoadInArray].map(|peer| (peer, Senders::Unlisted));
    let all = [OWN, Peer::Filterd(Feature::Six)].into_iter().chain(RIVALS);
    first.into_iter().chain(all.flat_map(|peer| Senders::ALL.map(|senders| (peer, senders)))).collect()
}

pub fn chapter(report: &Report<'_>, pace: Pace) -> Chapter {
    let (title, words) = match pace {
        Pace::Overlapping => (
            "Packets as they come",
            "The processor begins with the next packets while this one waits for memory, as it does under a flood.",
        ),
        Pace::Alone => (
            "One packet at a time",
            "Each packet waits until the previous one is finished, so the time that memory takes is visible.",
        ),
    };
    Chapter {
        title: title.to_owned(),
        words: words.to_owned(),
        tables: vec![table(report, pace)],
        plots: vec![plot(report, pace)],
        ..Chapter::default()
    }
}

fn table(report: &Report<'_>, pace: Pace) -> Table {
    let sizes = report.sizes();
    let names = sizes.iter().map(|&size| if size == 0 { "empty".to_owned() } else { grouped(size.into()) });
    let row = |(peer, senders): (Peer, Senders)| {
        let cells: Vec<_> = sizes.iter().map(|&size| cell(report, peer, size, senders, pace)).collect();
        let name = if peer.is_limit() { peer.to_string() } else { format!("{peer}, {senders}") };
        let is_measured = cells.iter().any(|cell| !cell.is_empty());
        is_measured.then(|| [name].into_iter().chain(cells).collect())
    };
    Table {
        title: format!("Nanoseconds a packet, {pace}"),
        heads: ["entries".to_owned()].into_iter().chain(names).collect(),
        rows: lines().into_iter().filter_map(row).collect(),
    }
}

fn cell(report: &Report<'_>, peer: Peer, entries: u32, senders: Senders, pace: Pace) -> String {
    let Some(measured) = report.find(Spec { peer, entries }, senders, pace) else { return String::new() };
    if peer.is_limit() { format!("{:.1}", measured.whole.median) } else { above(&measured.above_parsing) }
}

/// What is above parsing.
pub fn above(figures: &Figures) -> String {
    format!("+{:.1} ({:.1}…{:.1})", figures.median, figures.low, figures.high)
}

/// Unlisted packets. Who was measured with one number of entries only makes no line.
fn plot(report: &Report<'_>, pace: Pace) -> Plot {
    let line = |peer: Peer| -> Line {
        let point = |entries: u32| {
            let above = report.above(Spec { peer, entries }, Senders::Unlisted, pace)?;
            (entries > 0).then_some((f64::from(entries), above))
        };
        (peer.to_string(), report.sizes().into_iter().filter_map(point).collect())
    };
    let all = [OWN, Peer::Load].into_iter().chain(RIVALS).map(line);
    Plot {
        name: match pace {
            Pace::Overlapping => "overlapping",
            Pace::Alone => "alone",
        },
        title: format!("An unlisted packet by the number of entries, {pace}"),
        across: Axis { label: "entries", scale: Scale::Factors },
        up: Axis { label: "nanoseconds above parsing", scale: Scale::Factors },
        lines: all.filter(|(_, points)| points.len() > 1).collect(),
    }
}
