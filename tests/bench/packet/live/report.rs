//! What came out of live frames.

use std::path::Path;

use anyhow::{Context, Result};
use filterd_measure::figures::Figures;
use filterd_measure::machine;
use filterd_measure::tables::{Table, grouped};
use serde_json::json;

use super::Outcome;
use super::contender::Contender;

/// How it was measured.
#[derive(Debug)]
pub struct Method {
    pub rounds: usize,
    pub frames: u32,
    pub entries: u32,
}

/// Prints everything, and writes the page.
pub fn tell(outcomes: &[Outcome], method: &Method, json: bool, page: Option<&Path>) -> Result<()> {
    let head = format!("{}. {}", machine::describe(), said(method));
    let tables = [costs(outcomes), goals(outcomes)];
    if let Some(page) = page {
        let tables: Vec<_> = tables.iter().map(Table::markdown).collect();
        let text = format!(
            "# Live frames\n\nMade by `cargo xtask bench live`; do not edit.\n\n{head}\n\n{}",
            tables.join("\n")
        );
        std::fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))?;
    }
    if json {
        let tables: Vec<_> = tables.iter().map(Table::json).collect();
        println!("{:#}", json!({"version": 1, "machine": machine::describe(), "tables": tables}));
    } else {
        let tables: Vec<_> = tables.iter().map(Table::text).collect();
        println!("{head}\n\n{}", tables.join("\n"));
    }
    Ok(())
}

fn said(method: &Method) -> String {
    format!(
        "{} rounds of {} frames of random sources to each host in turn, over a veth pair with one queue; {} addresses \
         are listed. Medians of nanoseconds of a processor's time a frame, sending and receiving together, and the \
         middle half of the rounds. Frames that pass go to where no route leads.",
        method.rounds,
        grouped(method.frames.into()),
        grouped(method.entries.into())
    )
}

fn costs(outcomes: &[Outcome]) -> Table {
    let drop_all = listed(outcomes, Contender::DropAll);
    let row = |outcome: &Outcome| {
        vec![
            outcome.of.to_string(),
            cell(outcome.listed),
            format!("{:.2}", outcome.listed.median / drop_all),
            cell(outcome.unlisted),
            if outcome.of == Contender::DropAll { String::new() } else { cell(outcome.added) },
        ]
    };
    let heads = ["guarded by", "listed frames", "÷ dropping all", "other frames", "added to them"];
    Table {
        title: "Nanoseconds a frame".to_owned(),
        heads: heads.map(str::to_owned).into(),
        rows: outcomes.iter().map(row).collect(),
    }
}

fn cell(figures: Figures) -> String {
    format!("{:.0} ({:.0}…{:.0})", figures.median, figures.low, figures.high)
}

/// What was aimed at, and whether it holds here.
fn goals(outcomes: &[Outcome]) -> Table {
    use Contender::{DropAll, Filterd, Hash, Ipset, NftIngress, NftPrerouting, XdpFilter};
    let own = listed(outcomes, Filterd);
    let least = |rival, factor: f64| {
        let measured = listed(outcomes, rival) / own;
        goal(format!("a listed frame: ≥ {factor} times cheaper than {rival}"), measured, measured >= factor)
    };
    let beside_all = own / listed(outcomes, DropAll);
    let added = |of| find(outcomes, of).added.median;
    let share = |rival| {
        let measured = added(Filterd) / added(rival);
        goal(format!("added to other frames: ≤ 1/3 of {rival}"), measured, measured <= 1.0 / 3.0)
    };
    let mut rows =
        vec![goal(format!("a listed frame: ≤ 1.35 times {DropAll}"), beside_all, beside_all <= 1.35)];
    rows.extend(
        [(XdpFilter, 5.0), (NftIngress, 5.0), (NftPrerouting, 5.0), (Ipset, 5.0), (Hash, 3.0)]
            .map(|(rival, factor)| least(rival, factor)),
    );
    rows.push(goal("added to other frames: ≤ 70 ns".to_owned(), added(Filterd), added(Filterd) <= 70.0));
    rows.extend([Hash, XdpFilter, NftIngress, NftPrerouting, Ipset].map(share));
    Table { title: "Goals".to_owned(), heads: ["goal", "measured", "holds"].map(str::to_owned).into(), rows }
}

fn goal(goal: String, measured: f64, holds: bool) -> Vec<String> {
    vec![goal, format!("{measured:.2}"), if holds { "yes" } else { "no" }.to_owned()]
}

fn listed(outcomes: &[Outcome], of: Contender) -> f64 {
    find(outcomes, of).listed.median
}

fn find(outcomes: &[Outcome], of: Contender) -> &Outcome {
    outcomes.iter().find(|outcome| outcome.of == of).expect("all of them were measured")
}
