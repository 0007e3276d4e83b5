//! How many times what filterd costs above parsing do the others cost?

use filterd_measure::tables::{Table, grouped};
use pages::page::Chapter;

use super::Report;
use crate::peer::{FLOORS, OWN, RIVALS};
use crate::plan::{Pace, Senders, Spec};

pub fn chapter(report: &Report<'_>) -> Chapter {
    Chapter {
        title: "Ratios".to_owned(),
        words:
            "xdp-filter is Debian's own program with a larger map: as installed it takes 10,000 addresses \
                at most. It looks up source and destination."
                .to_owned(),
        tables: Pace::ALL.map(|pace| table(report, pace)).into(),
        ..Chapter::default()
    }
}

fn table(report: &Report<'_>, pace: Pace) -> Table {
    let sizes = report.sizes();
    let rows = Senders::ALL
        .into_iter()
        .flat_map(|senders| sizes.iter().filter_map(move |&entries| row(report, pace, senders, entries)));
    let rivals = RIVALS.iter().map(|rival| format!("{rival} ÷ filterd"));
    Table {
        title: format!("Ratios of what is above parsing, {pace}"),
        heads: ["packets, entries".to_owned()]
            .into_iter()
            .chain(rivals)
            .chain(FLOORS.map(|floor| format!("filterd ÷ {floor}")))
            .collect(),
        rows: rows.collect(),
    }
}

fn row(report: &Report<'_>, pace: Pace, senders: Senders, entries: u32) -> Option<Vec<String>> {
    let above = |peer| report.above(Spec { peer, entries }, senders, pace);
    let own = above(OWN).filter(|_| entries > 0)?;
    let cell =
        |ratio: Option<f64>, digits| ratio.map_or_else(String::new, |ratio| format!("{ratio:.digits$}"));
    let rivals = RIVALS.map(|rival| cell(above(rival).map(|theirs| theirs / own), 1));
    let floors = FLOORS.map(|floor| cell(above(floor).map(|load| own / load), 2));
    let name = format!("{senders}, {}", grouped(entries.into()));
    Some([name].into_iter().chain(rivals).chain(floors).collect())
}
