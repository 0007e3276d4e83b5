//! What came out, list by list.

use filterd_measure::figures::Figures;
use filterd_measure::tables::{Table, grouped};
use pages::page::Chapter;

use super::{Dpdk, Line, Of};

pub fn chapter(lists: &[Of], dpdk: &Dpdk) -> Chapter {
    let mut missing: Vec<String> = lists
        .iter()
        .flat_map(|of| of.missing.iter().map(|what| format!("{}: {what}", of.list.name)))
        .collect();
    if let Dpdk::Missing(why) = dpdk {
        missing.push(format!("DPDK's tables ({why})"));
    }
    let remark = match missing.is_empty() {
        true => String::new(),
        false => format!("Not measured: {}.", missing.join("; ")),
    };
    Chapter {
        title: "Lists shaped like real ones".to_owned(),
        words: format!(
            "Made from a seed, with as many prefixes of each length as countries' lists have, which nest as those do. {} sources \
             of each kind are looked up twice, and the second time counts. filterd's is the decision of the packet path, \
             one address at a time; its settings are constants there and lie in memory here. DPDK's are the tables of \
             Debian's libdpdk-dev: some are asked for 32 at a time, as its programs do. They reserve their memory for the worst that \
             a list of these lengths can be.",
            grouped(super::lists::SOURCES as u64)
        ),
        tables: lists.iter().map(table).collect(),
        remark,
        ..Chapter::default()
    }
}

fn table(of: &Of) -> Table {
    let kinds = of.list.kinds.iter().map(|kind| kind.from.to_string());
    let heads = ["nanoseconds each", "insert"].map(str::to_owned).into_iter().chain(kinds);
    Table {
        title: format!("{}, {} prefixes", of.list.name, grouped(of.list.targets.len() as u64)),
        heads: heads.chain(["MiB".to_owned()]).collect(),
        rows: of.lines.iter().map(row).collect(),
    }
}

fn row(line: &Line) -> Vec<String> {
    let cell = |figures: &Figures| format!("{:.1} ({:.1}…{:.1})", figures.median, figures.low, figures.high);
    let lookups = line.lookups.iter().map(cell);
    let mebibytes = format!("{:.1}", line.bytes as f64 / f64::from(1 << 20));
    [line.table.clone(), cell(&line.insert)].into_iter().chain(lookups).chain([mebibytes]).collect()
}
