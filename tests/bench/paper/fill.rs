//! Figure 2: how full a filter gets, by the size of its fingerprints and of its buckets.

use anyhow::Result;
use filterd_measure::figures::Figures;
use filterd_measure::tables::{Table, grouped};
use filterd_paper::Filter;
use filterd_paper::cuckoo::{Plain, Room, Shape};
use pages::arguments::Effort;
use pages::page::Chapter;
use pages::plot::{Axis, Line, Plot, Scale};

use crate::keys;

const FINGERPRINTS: [u32; 10] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 16];

/// What section 5.1 says that buckets of so many reach, in a hundred.
const PRINTED: [(u32, u32); 4] = [(1, 50), (2, 84), (4, 95), (8, 98)];

/// Filters of all sizes filled until they refuse one.
pub fn chapter(effort: Effort) -> Result<Chapter> {
    let (small, large) = effort.of((12, 16), (15, 20), (15, 25));
    let kicked = by_bucket(small, Room::Kicks, effort);
    let searched = by_bucket(small, Room::Path, effort);
    let sizes = by_size(&[small, large], effort);
    let axis = |label| Axis { label, scale: Scale::Even };
    let plot = Plot {
        name: "load",
        title: format!("Load at the first refusal, 2^{small} buckets, random kicks"),
        across: axis("bits of a fingerprint"),
        up: axis("load, %"),
        lines: kicked.clone(),
    };
    let of_size = |how: &str| format!("Load in %, {} buckets, {how}", grouped(1 << small));
    Ok(Chapter {
        title: "Load by fingerprint and bucket (figure 2)".to_owned(),
        words: "Random keys come in until one is refused, after 500 random kicks as in the paper, or when filterd's \
                breadth-first search has looked at 2,048 buckets."
            .to_owned(),
        tables: vec![
            table(of_size("random kicks"), &kicked, true),
            table(of_size("breadth-first search"), &searched, true),
            table("Load in % of buckets of four, random kicks".to_owned(), &sizes, false),
        ],
        plots: vec![plot],
        remark: "The paper prints the load that long fingerprints reach, and curves for the short ones; the ;login: article's \
                 table 2 was not at hand. Short fingerprints reach it the later the larger the table, as there: an entry \
                 then has too few places to go. The search keeps no path of more than eleven moves, which buckets of one \
                 would need; filterd has none of these."
            .to_owned(),
    })
}

fn by_bucket(index_bits: u32, room: Room, effort: Effort) -> Vec<Line> {
    let line = |(bucket, _): (u32, u32)| {
        let load = |fingerprint| load(Shape { fingerprint, bucket, index_bits }, room, effort.of(1, 10, 10));
        (format!("b = {bucket}"), points(load))
    };
    PRINTED.map(line).into()
}

fn by_size(index_bits: &[u32], effort: Effort) -> Vec<Line> {
    let line = |&index_bits: &u32| {
        let load =
            |fingerprint| load(Shape { fingerprint, bucket: 4, index_bits }, Room::Kicks, effort.of(1, 2, 1));
        (format!("2^{index_bits} buckets"), points(load))
    };
    index_bits.iter().map(line).collect()
}

fn points(load: impl Fn(u32) -> f64) -> Vec<(f64, f64)> {
    FINGERPRINTS.iter().map(|&fingerprint| (fingerprint.into(), load(fingerprint))).collect()
}

/// The median, in a hundred.
fn load(shape: Shape, room: Room, runs: u64) -> f64 {
    let run = |run: u64| {
        let mut filter = Plain::new(shape, room);
        let mut numbers = run << 32..;
        let members =
            numbers.by_ref().take_while(|&number| filter.insert(keys::member(number)).is_ok()).count();
        100.0 * members as f64 / filter.slots() as f64
    };
    Figures::of((0..runs).map(run).collect()).median
}

fn table(title: String, lines: &[Line], has_printed: bool) -> Table {
    let heads = FINGERPRINTS.iter().map(|fingerprint| format!("f = {fingerprint}"));
    let heads =
        [String::new()].into_iter().chain(heads).chain(has_printed.then(|| "paper, long f".to_owned()));
    let row = |(at, (name, points)): (usize, &Line)| {
        let loads = points.iter().map(|point| format!("{:.1}", point.1));
        let printed = has_printed.then(|| PRINTED[at].1.to_string());
        [name.clone()].into_iter().chain(loads).chain(printed).collect()
    };
    Table { title, heads: heads.collect(), rows: lines.iter().enumerate().map(row).collect() }
}
