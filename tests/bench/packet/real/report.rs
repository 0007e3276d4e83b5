//! What came out, list by list.

use filterd_measure::tables::{Table, grouped};
use pages::page::Chapter;

use super::{Line, Manner, Outcome, Who};
use crate::plan::Pace;

pub fn chapter(outcome: &Outcome) -> Chapter {
    Chapter {
        title: "Lists shaped like real ones".to_owned(),
        words: format!(
            "The lists are made from a seed. They have as many prefixes of each length as countries' lists \
             have, nested in the same way; `tests/bench/real` documents what was counted and what is assumed. \
             These take turns in {} rounds: filterd as shipped, filterd with one counter for all drops, a BPF \
             trie of the same list, for IPv6 a table that is asked once for each length in use, and the \
             program that only parses. {} sources of each kind are made beforehand. They come one after the \
             other (overlapping), one packet at a time (alone), or as one source only, another one in each \
             round (hot). Bans lie in announced address space. With the last IPv6 list they lie anywhere, as \
             on no real list of attackers. Figures are medians of nanoseconds above parsing, with the middle \
             half of the rounds in brackets.",
            outcome.extent.rounds,
            grouped(super::told::TOLD.into())
        ),
        tables: Manner::ALL.map(|manner| table(outcome, manner)).into(),
        ..Chapter::default()
    }
}

fn table(outcome: &Outcome, manner: Manner) -> Table {
    let heads = [
        "list, sources",
        "filterd",
        "counters: total",
        "BPF LPM trie",
        "trie ÷ filterd",
        "one probe a length",
        "that ÷ filterd",
    ];
    let own = |line: &&Line| line.manner == manner && line.who == Who::Filterd;
    Table {
        title: format!("Real lists, {}", told(manner)),
        heads: heads.map(str::to_owned).into(),
        rows: outcome.lines.iter().filter(own).filter_map(|line| row(outcome, line)).collect(),
    }
}

fn row(outcome: &Outcome, own: &Line) -> Option<Vec<String>> {
    let (_, count) = outcome.lists.iter().find(|(name, _)| *name == own.list)?;
    let [total, trie] = [Who::Total, Who::Trie].map(|who| outcome.line(own.list, own.from, own.manner, who));
    let (total, trie) = (total?, trie?);
    let cell = |line: &Line| crate::report::above(&line.above);
    let lengths = outcome.line(own.list, own.from, own.manner, Who::Lengths);
    let times = |line: &Line| format!("{:.1}", super::goals::ratio(line.above.median, own.above.median));
    Some(vec![
        format!("{} ({}): {}", own.list, grouped(*count as u64), own.from),
        cell(own),
        cell(total),
        cell(trie),
        times(trie),
        lengths.map(cell).unwrap_or_default(),
        lengths.map(times).unwrap_or_default(),
    ])
}

pub fn told(manner: Manner) -> String {
    match manner {
        Manner::Spread(Pace::Overlapping) => "overlapping".to_owned(),
        Manner::Spread(Pace::Alone) => "alone".to_owned(),
        Manner::Hot => "hot".to_owned(),
    }
}
