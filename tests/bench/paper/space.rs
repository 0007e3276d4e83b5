//! Figures 3 and 4: what an item takes, by how often the filter errs.

use anyhow::Result;
use filterd_measure::tables::Table;
use filterd_paper::Filter;
use filterd_paper::cuckoo::{Plain, Room, Shape, Sorted};
use pages::arguments::Effort;
use pages::page::Chapter;
use pages::plot::{Axis, Line, Plot, Scale};

use crate::keys;

const FINGERPRINTS: std::ops::RangeInclusive<u32> = 6..=16;

/// A filter as full as it gets.
struct Point {
    false_positives: f64,
    bits_per_item: f64,
}

/// Full filters of all shapes.
pub fn chapter(effort: Effort) -> Result<Chapter> {
    let slots = effort.of(16, 20, 22);
    let plain = |bucket: u32| {
        let point = |fingerprint| {
            let shape = Shape { fingerprint, bucket, index_bits: slots - bucket.ilog2() };
            measure(Plain::new(shape, Room::Path), effort)
        };
        (format!("b = {bucket}"), FINGERPRINTS.map(point).collect::<Vec<_>>())
    };
    let sorted = |fingerprint| {
        measure(Sorted::new(Shape { fingerprint, bucket: 4, index_bits: slots - 2 }, Room::Path), effort)
    };
    let sorted = ("b = 4, semi-sorted".to_owned(), FINGERPRINTS.map(sorted).collect());
    let measured: Vec<(String, Vec<Point>)> = [2, 4, 8].map(plain).into_iter().chain([sorted]).collect();
    Ok(Chapter {
        title: "Space by false positives (figures 3 and 4)".to_owned(),
        words: format!(
            "Bits an item takes in a filter of 2^{slots} slots that has refused one, and the false positives that were counted \
             in it. Beside it, in brackets, what a Bloom filter takes for as few: 1.44 log2(1/ε)."
        ),
        tables: vec![table(&measured)],
        plots: vec![plot(&measured)],
        remark: "As the paper says, a semi-sorted cuckoo filter takes less than a Bloom filter below 3 % false positives, and \
                 buckets of two take the least above about 0.2 %, buckets of four below. The figures print no numbers."
            .to_owned(),
    })
}

fn measure(mut filter: impl Filter, effort: Effort) -> Point {
    let members = (0..).take_while(|&number| filter.insert(keys::member(number)).is_ok()).count();
    let non_members: u64 = effort.of(200_000, 4_000_000, 8_000_000);
    let found = (0..non_members).filter(|&number| filter.contains(keys::non_member(number))).count();
    Point {
        false_positives: found as f64 / non_members as f64,
        bits_per_item: filter.bits() as f64 / members as f64,
    }
}

fn table(measured: &[(String, Vec<Point>)]) -> Table {
    let heads = measured.iter().flat_map(|(name, _)| [format!("{name}: bits"), format!("{name}: % false")]);
    let row = |(at, fingerprint): (usize, u32)| {
        let cells = measured.iter().flat_map(|(_, points)| {
            let point = &points[at];
            let bits = format!("{:.2} ({:.2})", point.bits_per_item, bloom(point.false_positives));
            [bits, format!("{:.4}", point.false_positives * 100.0)]
        });
        [format!("f = {fingerprint}")].into_iter().chain(cells).collect()
    };
    Table {
        title: "Bits an item, and false positives".to_owned(),
        heads: [String::new()].into_iter().chain(heads).collect(),
        rows: FINGERPRINTS.enumerate().map(row).collect(),
    }
}

/// What the best Bloom filter takes.
fn bloom(false_positives: f64) -> f64 {
    std::f64::consts::LOG2_E * least(false_positives)
}

/// What no filter can go below.
fn least(false_positives: f64) -> f64 {
    -false_positives.log2()
}

fn plot(measured: &[(String, Vec<Point>)]) -> Plot {
    let line = |(name, points): &(String, Vec<Point>)| {
        (name.clone(), points.iter().map(|point| (point.false_positives, point.bits_per_item)).collect())
    };
    let limit = |name: &str, bits: fn(f64) -> f64| {
        let rates = (0..=40).map(|step| 10_f64.powf(-4.0 + f64::from(step) * 0.075));
        (name.to_owned(), rates.map(|rate| (rate, bits(rate))).collect())
    };
    let lines: Vec<Line> =
        measured.iter().map(line).chain([limit("Bloom", bloom), limit("lower bound", least)]).collect();
    Plot {
        name: "space",
        title: "Bits an item by false positives".to_owned(),
        across: Axis { label: "false positives", scale: Scale::Factors },
        up: Axis { label: "bits an item", scale: Scale::Even },
        lines,
    }
}
