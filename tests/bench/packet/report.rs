//! What came out, for people and for programs.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use filterd_measure::tables::{Table, grouped};
use serde_json::{Value, json};

use crate::code::{Code, Program};
use crate::goals;
use crate::plan::{Measurement, PREFIXES, Pace, Peer, Plan, RIVALS, Senders, Spec};
use crate::rounds::Measured;

/// Everything that is to be told.
#[derive(Debug)]
pub struct Report<'a> {
    pub machine: String,
    pub plan: &'a Plan,
    pub measured: Vec<Measured>,
    pub code: Vec<Code>,
}

const OPEN: &str = "<!-- cargo xtask bench packet -->";
const CLOSE: &str = "<!-- end of bench packet -->";

const PACES: [(Pace, &str); 2] = [
    (Pace::Overlapping, "as they come, misses of the caches overlapping"),
    (Pace::Alone, "one packet at a time"),
];

const SENDERS: [Senders; 3] = [Senders::Unlisted, Senders::Listed, Senders::Half];

impl Report<'_> {
    /// For a terminal.
    pub fn text(&self) -> String {
        let tables: Vec<_> = self.tables().iter().map(Table::text).collect();
        format!("{}\n{}\n\n{}", self.machine, self.method(), tables.join("\n"))
    }

    /// For a program.
    pub fn json(&self) -> Value {
        let each = self.plan.measurements.iter().zip(&self.measured);
        let packets: Vec<_> = each.map(|(what, measured)| self.measurement_json(what, measured)).collect();
        let code: Vec<_> = self.code.iter().map(code_json).collect();
        json!({
            "version": 1,
            "machine": self.machine,
            "rounds": self.plan.rounds,
            "packets": self.plan.packets,
            "nanoseconds": packets,
            "code": code,
        })
    }

    /// Writes the tables into their part of the page, and leaves the rest of it alone.
    pub fn write_page(&self, page: &Path) -> Result<()> {
        let before = fs::read_to_string(page).unwrap_or_default();
        fs::write(page, with_part(&before, &self.markdown()))
            .with_context(|| format!("cannot write {}", page.display()))
    }

    fn markdown(&self) -> String {
        let tables: Vec<_> = self.tables().iter().map(Table::markdown).collect();
        let head = "## What a packet costs\n\nMade by `cargo xtask bench packet`; do not edit.";
        format!("{head}\n\n{}. {}\n\n{}", self.machine, self.method(), tables.join("\n"))
    }

    fn method(&self) -> String {
        format!(
            "Each program ran {} times {} packets with BPF_PROG_TEST_RUN, all in turn; every packet has another random \
             source. Medians of nanoseconds a packet above the program that only parses, and the middle half of the \
             runs. filterd is as shipped: root program, jump, counters, stash. \"With prefixes\": {PREFIXES} /24s beside \
             the addresses.",
            self.plan.rounds, self.plan.packets
        )
    }

    fn tables(&self) -> Vec<Table> {
        let costs = PACES.into_iter().map(|(pace, title)| self.costs(pace, title));
        costs.chain([self.ratios(), self.code_table(), goals::table(self)]).collect()
    }

    fn costs(&self, pace: Pace, title: &str) -> Table {
        let sizes = self.sizes();
        let names =
            sizes.iter().map(|&size| if size == 0 { "empty".to_owned() } else { grouped(size.into()) });
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (peer, senders) in self.lines() {
            let cells = sizes.iter().map(|&size| self.cell(peer, size, senders, pace));
            let name = if peer.is_limit() { peer.to_string() } else { format!("{peer}, {senders}") };
            rows.push([name].into_iter().chain(cells).collect());
        }
        let heads = ["nanoseconds a packet".to_owned()].into_iter().chain(names).collect();
        Table { title: format!("Packets {title}"), heads, rows }
    }

    fn cell(&self, peer: Peer, entries: u32, senders: Senders, pace: Pace) -> String {
        let Some(measured) = self.find(Spec { peer, entries }, senders, pace) else { return String::new() };
        if peer.is_limit() {
            return format!("{:.1}", measured.whole.median);
        }
        let above = &measured.above_parsing;
        format!("+{:.1} ({:.1}…{:.1})", above.median, above.low, above.high)
    }

    /// How many times what filterd costs above parsing do the others cost?
    fn ratios(&self) -> Table {
        let manners = PACES.into_iter().flat_map(|(pace, _)| SENDERS.map(|senders| (pace, senders)));
        let rows = manners.flat_map(|(pace, senders)| {
            self.sizes().into_iter().filter_map(move |entries| self.ratio_row(pace, senders, entries))
        });
        let rivals = RIVALS.iter().map(|rival| format!("{rival} ÷ filterd"));
        Table {
            title: "Ratios of what is above parsing".to_owned(),
            heads: [String::new()]
                .into_iter()
                .chain(rivals)
                .chain([format!("filterd ÷ {}", Peer::Load)])
                .collect(),
            rows: rows.collect(),
        }
    }

    fn ratio_row(&self, pace: Pace, senders: Senders, entries: u32) -> Option<Vec<String>> {
        let above = |peer| {
            let found = self.find(Spec { peer, entries }, senders, pace)?;
            Some(found.above_parsing.median)
        };
        let own = above(Peer::Filterd).filter(|_| entries > 0)?;
        let cell =
            |ratio: Option<f64>, digits| ratio.map_or_else(String::new, |ratio| format!("{ratio:.digits$}"));
        let name = format!("{pace}, {senders}, {}", grouped(entries.into()));
        let rivals = RIVALS.map(|rival| cell(above(rival).map(|theirs| theirs / own), 1));
        let load = cell(above(Peer::Load).map(|load| own / load), 2);
        Some([name].into_iter().chain(rivals).chain([load]).collect())
    }

    fn code_table(&self) -> Table {
        let heads =
            ["program", "steps of a miss", "BPF instructions", "bytes of machine code", "steps verified"];
        Table {
            title: "Programs as loaded".to_owned(),
            heads: heads.map(str::to_owned).into(),
            rows: self.code.iter().map(code_row).collect(),
        }
    }

    /// What came out for one of them.
    pub fn find(&self, spec: Spec, senders: Senders, pace: Pace) -> Option<&Measured> {
        let is_it = |what: &Measurement| {
            self.plan.subjects[what.subject] == spec && what.senders == senders && what.pace == pace
        };
        Some(&self.measured[self.plan.measurements.iter().position(is_it)?])
    }

    fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.plan.subjects.iter().map(|spec| spec.entries).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Who is measured with whose packets, each pair once.
    fn lines(&self) -> Vec<(Peer, Senders)> {
        let mut lines = Vec::new();
        for what in &self.plan.measurements {
            let line = (self.plan.subjects[what.subject].peer, what.senders);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    fn measurement_json(&self, what: &Measurement, measured: &Measured) -> Value {
        let spec = self.plan.subjects[what.subject];
        let above = &measured.above_parsing;
        json!({
            "program": spec.peer.to_string(),
            "entries": spec.entries,
            "senders": what.senders.to_string(),
            "pace": what.pace.to_string(),
            "median": measured.whole.median,
            "above_parsing": {"median": above.median, "low": above.low, "high": above.high},
        })
    }
}

/// Its programs are added up.
fn code_row(code: &Code) -> Vec<String> {
    let sum = |of: fn(&Program) -> u32| code.programs.iter().map(of).sum::<u32>().to_string();
    let entries =
        if code.of.entries == 0 { String::new() } else { format!(", {}", grouped(code.of.entries.into())) };
    vec![
        format!("{}{entries}", code.of.peer),
        code.steps.map_or_else(|| "?".to_owned(), |steps| steps.to_string()),
        sum(|program| program.instructions),
        sum(|program| program.machine_bytes),
        sum(|program| program.verified),
    ]
}

fn code_json(code: &Code) -> Value {
    let program = |program: &Program| {
        json!({
            "name": program.name,
            "instructions": program.instructions,
            "machine_bytes": program.machine_bytes,
            "verified": program.verified,
        })
    };
    json!({
        "program": code.of.peer.to_string(),
        "entries": code.of.entries,
        "steps_of_a_miss": code.steps,
        "programs": code.programs.iter().map(program).collect::<Vec<_>>(),
    })
}

/// `page` with `part` in its place, or at its end.
fn with_part(page: &str, part: &str) -> String {
    let (before, after) = match (page.split_once(OPEN), page.split_once(CLOSE)) {
        (Some((before, _)), Some((_, after))) => (before, after),
        _ => (page, "\n"),
    };
    format!("{before}{OPEN}\n{part}{CLOSE}{after}")
}
