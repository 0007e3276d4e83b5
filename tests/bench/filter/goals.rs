//! What was aimed at, and whether it holds here: as fast as the C++ library of the paper's authors, at half its bits.

use filterd_measure::goals::{self, Goal};
use pages::page::Chapter;

use crate::sample::Line;

/// What their filter of 16-bit fingerprints is called by a program beside.
const THEIRS: &str = "efficient/cuckoofilter,f=16";

/// The first of the lines is filterd's.
pub fn chapter(lines: &[Line]) -> Chapter {
    let own = &lines[0];
    let theirs = lines.iter().find(|line| line.name == THEIRS);
    let exact = Goal::most("% false positives", own.false_positives * 100.0, 0.0);
    Chapter {
        title: "Goals".to_owned(),
        words: format!("Of {}, where a program beside measures {THEIRS}.", own.name),
        tables: vec![goals::table(
            "Goals",
            [exact].into_iter().chain(theirs.into_iter().flat_map(|theirs| beside(own, theirs))),
        )],
        ..Chapter::default()
    }
}

fn beside(own: &Line, theirs: &Line) -> impl Iterator<Item = Goal> {
    let goal = |what: &str, own: f64, theirs: f64, limit| {
        Goal::most(&format!("{what} ÷ {THEIRS}"), own / theirs, limit)
    };
    let lookups = ["0 % members", "50 %", "100 %"].into_iter().zip(own.lookups.iter().zip(&theirs.lookups));
    let lookups = lookups.map(move |(share, (own, theirs))| {
        goal(&format!("a lookup, {share}"), own.median, theirs.median, 1.0)
    });
    let others = [
        goal("an insert", own.insert.median, theirs.insert.median, 1.0),
        goal("bits an item", own.bits_per_item, theirs.bits_per_item, 0.5),
    ];
    lookups.chain(others).collect::<Vec<_>>().into_iter()
}
