//! Table 3: how much fits, what it takes to build, how often it errs.

use filterd_measure::figures::Figures;
use filterd_measure::tables::Table;
use pages::arguments::Effort;
use pages::page::Chapter;

use crate::contenders::{Contender, mebibytes};
use crate::life::Life;

/// Ours beside the paper's.
pub fn chapter(effort: Effort, lives: &[Life]) -> Chapter {
    let heads = ["million items", "bits an item", "% false positives", "million inserts a second"];
    let heads = heads.into_iter().flat_map(|head| [head.to_owned(), format!("{head}, paper")]);
    let table = Table {
        title: "Table 3: space and construction".to_owned(),
        heads: [String::new()].into_iter().chain(heads).collect(),
        rows: Contender::ALL.map(|of| row(of, lives)).into(),
    };
    Chapter {
        title: "Space and construction (table 3)".to_owned(),
        words: format!(
            "Cuckoo filters and the d-left one are filled until they refuse one, the Bloom filters up to 13 bits an item, \
             the quotient filter up to nine slots in ten, as in the paper. All take {} MiB; the paper's took 192 MB.",
            mebibytes(effort)
        ),
        tables: vec![table],
        plots: Vec::new(),
        remark: "Space and errors follow from the construction, and agree, but for the blocked Bloom filter, which errs less here: \
                 how the paper took its bits out of a hash it does not print. Rates are those of another machine, whose \
                 cache holds what the paper's did not; the cuckoo filters find room by breadth-first search where the \
                 paper kicks at random. How the paper cut its d-left buckets it does not print; twelve bits and two to \
                 count, eight in a bucket, give its numbers."
            .to_owned(),
    }
}

fn row(of: Contender, lives: &[Life]) -> Vec<String> {
    let own = || lives.iter().filter(|life| life.of == of);
    let median = |part: fn(&Life) -> f64| Figures::of(own().map(part).collect()).median;
    let printed = of.printed();
    let cells = [
        (median(|life| life.members as f64 / 1e6), printed.million_items),
        (median(|life| life.bits as f64 / life.members as f64), printed.bits_per_item),
        (median(|life| life.false_positives * 100.0), printed.percent_false),
        (median(Life::million_inserts), printed.million_inserts),
    ];
    let cells = cells.into_iter().flat_map(|(ours, paper)| [format!("{ours:.2}"), format!("{paper:.2}")]);
    [of.name().to_owned()].into_iter().chain(cells).collect()
}
