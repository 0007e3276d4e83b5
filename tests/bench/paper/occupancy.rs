//! Figures 5 to 8: lookups, inserts and deletes, by who asks and by how full it is.

use filterd_measure::figures::Figures;
use filterd_measure::tables::Table;
use pages::page::Chapter;
use pages::plot::{Axis, Line, Plot, Scale};

use crate::contenders::Contender;
use crate::life::{Life, SHARES, STEPS};

type Times = fn(&Life) -> &[f64];

/// What the authors' conext-figure5 says in its head, in million lookups a second.
const AUTHORS: [(Contender, [f64; SHARES.len()]); 2] = [
    (Contender::Cuckoo, [24.79, 24.65, 24.84, 24.86, 24.89]),
    (Contender::SemiSorted, [9.37, 9.57, 9.57, 9.62, 9.96]),
];

const THROUGHPUT: Axis = Axis { label: "million a second", scale: Scale::Even };

/// One chapter for each of the paper's figures.
pub fn chapters(lives: &[Life]) -> Vec<Chapter> {
    let occupancies: Vec<f64> = (1..=STEPS).map(|step| step as f64 / STEPS as f64).collect();
    let downward: Vec<f64> = occupancies.iter().rev().copied().collect();
    let occupied = Axis { label: "share of what it can hold", scale: Scale::Even };
    let curves = |name, title, at: &[f64], of: Times| curve(lives, name, title, occupied, at, of);
    vec![
        Chapter {
            remark: "The paper shows curves and prints no numbers; the authors' own program tells some (efficient/cuckoofilter, \
                     benchmarks/conext-figure5.cc, filters of 192 MB). As there, a cuckoo filter does not care whether a \
                     key is a member. Here the Bloom filters hardly care either, though they stop at the first bit that is \
                     not set: when that will be cannot be predicted."
                .to_owned(),
            ..shares(lives)
        },
        Chapter {
            title: "Lookups by occupancy (figure 6)".to_owned(),
            words: "Million lookups a second, of members (figure 6a) and of non-members (6b).".to_owned(),
            remark: "The paper shows curves and prints no numbers. The cuckoo filters are level, the Bloom filters pay for \
                     every bit that is set, and the quotient filter for clusters that grow."
                .to_owned(),
            ..joined(
                curves("hits", "Lookups of members", &occupancies, |life| &life.hit),
                curves("misses", "Lookups of non-members", &occupancies, |life| &life.miss),
            )
        },
        Chapter {
            title: "Inserts by occupancy (figure 7)".to_owned(),
            words: "Million inserts a second, over the step of five in a hundred that ends there.".to_owned(),
            remark: "The paper shows curves and prints no numbers. As there, the cuckoo filters slow down towards their \
                     capacity; here they search for the shortest path, where the paper's kick at random."
                .to_owned(),
            ..curves("inserts", "Inserts", &occupancies, |life| &life.insert)
        },
        Chapter {
            title: "Deletes by occupancy (figure 8)".to_owned(),
            words: "Million deletes a second, from full to empty. Bloom filters cannot.".to_owned(),
            remark: "The paper shows curves and prints no numbers. A full quotient filter moves most of a cluster for one \
                     delete; the others look at their few places."
                .to_owned(),
            ..curves("deletes", "Deletes", &downward, |life| &life.remove)
        },
    ]
}

fn shares(lives: &[Life]) -> Chapter {
    let percent = Axis { label: "members among the lookups, %", scale: Scale::Even };
    let at: Vec<f64> = SHARES.iter().map(|&share| share.into()).collect();
    let mut chapter = Chapter {
        title: "Lookups by who is asked about (figure 5)".to_owned(),
        words: "Million lookups a second in full filters.".to_owned(),
        ..curve(lives, "shares", "Lookups by the share of members", percent, &at, |life| &life.mixed)
    };
    let row = |(who, cells): (Contender, [f64; SHARES.len()])| {
        let name = format!("{}, the authors' on an i7-4790", who.name());
        [name].into_iter().chain(cells.map(|cell| format!("{cell:.1}"))).collect()
    };
    chapter.tables[0].rows.extend(AUTHORS.map(row));
    chapter
}

fn joined(mut one: Chapter, other: Chapter) -> Chapter {
    one.tables.extend(other.tables);
    one.plots.extend(other.plots);
    one
}

/// A table and a plot of `of`, in million a second, for each that has any.
fn curve(lives: &[Life], name: &'static str, title: &str, across: Axis, at: &[f64], of: Times) -> Chapter {
    let lines: Vec<Line> = Contender::ALL.iter().filter_map(|&who| line(lives, who, at, of)).collect();
    let some = |index: usize| index.is_multiple_of(at.len() / 5);
    let cells = |numbers: &mut dyn Iterator<Item = String>| {
        numbers.enumerate().filter(|&(index, _)| some(index)).map(|(_, cell)| cell).collect::<Vec<_>>()
    };
    let row = |(name, points): &Line| {
        let numbers = cells(&mut points.iter().map(|point| format!("{:.1}", point.1)));
        [name.clone()].into_iter().chain(numbers).collect()
    };
    let heads = cells(&mut at.iter().map(|at| format!("{}", (at * 100.0).round() / 100.0)));
    let heads = [across.label.to_owned()].into_iter().chain(heads).collect();
    Chapter {
        tables: vec![Table {
            title: format!("{title}, million a second"),
            heads,
            rows: lines.iter().map(row).collect(),
        }],
        plots: vec![Plot { name, title: title.to_owned(), across, up: THROUGHPUT, lines }],
        ..Chapter::default()
    }
}

fn line(lives: &[Life], who: Contender, at: &[f64], of: Times) -> Option<Line> {
    let own: Vec<&[f64]> = lives.iter().filter(|life| life.of == who).map(of).collect();
    let median = |index: usize| Figures::of(own.iter().map(|times| times[index]).collect()).median;
    let points = at.iter().enumerate().map(|(index, &at)| (at, 1000.0 / median(index)));
    (!own.iter().any(|times| times.is_empty())).then(|| (who.name().to_owned(), points.collect()))
}
