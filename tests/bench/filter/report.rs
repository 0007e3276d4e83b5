//! What came out, as a page.

use filterd_measure::figures::Figures;
use filterd_measure::tables::{Table, grouped};
use pages::page::{Chapter, Page};
use pages::plot::{Axis, Plot, Scale};

use crate::goals;
use crate::instructions::Instructions;
use crate::sample::Line;

/// Everything that is to be told.
pub struct Report {
    pub machine: String,
    pub members: u32,
    pub rounds: usize,
    pub lines: Vec<Line>,
    pub instructions: Vec<(&'static str, Instructions)>,
    pub real: Chapter,
}

const SHARES: [f64; 3] = [0.0, 50.0, 100.0];

impl Report {
    pub fn page(self) -> Page {
        Page {
            title: "The filter as a library".to_owned(),
            command: "cargo xtask bench filter".to_owned(),
            machine: self.machine.clone(),
            method: format!(
                "{} IPv4 addresses: each filter is made for that many, and filled with them. Figures are \
                 medians of nanoseconds of processor time over {} round(s), in which all filters take turns; \
                 brackets hold the middle half of the rounds. Lookups are two million in random order.",
                grouped(self.members.into()),
                self.rounds
            ),
            chapters: vec![self.times(), self.space(), self.counts(), goals::chapter(&self.lines), self.real],
        }
    }

    fn times(&self) -> Chapter {
        let heads = ["nanoseconds each", "insert", "lookup, 0 % members", "50 %", "100 %", "delete"];
        let row = |line: &Line| {
            let lookups = line.lookups.iter().map(cell);
            let remove = line.remove.as_ref().map_or_else(String::new, cell);
            [line.name.clone(), cell(&line.insert)].into_iter().chain(lookups).chain([remove]).collect()
        };
        let points = |line: &Line| {
            let at = SHARES.into_iter().zip(&line.lookups);
            (line.name.clone(), at.map(|(share, figures)| (share, figures.median)).collect())
        };
        let plot = Plot {
            name: "lookups",
            title: "A lookup by the share of members".to_owned(),
            across: Axis { label: "members among the lookups, %", scale: Scale::Even },
            up: Axis { label: "nanoseconds", scale: Scale::Even },
            lines: self.lines.iter().map(points).collect(),
        };
        Chapter {
            title: "Times".to_owned(),
            words:
                "Static filters are made from all members at once; their time for each member stands under \
                    insert. The rows after std HashSet come from a program that was given with --beside. \
                    Everything else was built for any processor of this kind."
                    .to_owned(),
            tables: vec![table("Nanoseconds", heads.into(), self.lines.iter().map(row)), self.ratios()],
            plots: vec![plot],
            remark:
                "Memory and time are traded for each other. At ten million the exact table is 95 % full; \
                     tables of four slots of 8, 12 or 16 bits are 60 % full. Inserts into the exact table \
                     move entries, which takes time and saves memory. filterd inserts lists as in the first \
                     row, and looks 64 members ahead. `one at a time` does not know the next members; the \
                     other filters do not either."
                    .to_owned(),
        }
    }

    /// How many times what filterd's filter takes do the others take?
    fn ratios(&self) -> Table {
        let own = &self.lines[0];
        let row = |line: &Line| {
            let ratio = |of: &Figures, own: &Figures| format!("{:.2}", of.median / own.median);
            let lookups = line.lookups.iter().zip(&own.lookups).map(|(of, own)| ratio(of, own));
            let remove = line.remove.as_ref().zip(own.remove.as_ref());
            let remove = remove.map_or_else(String::new, |(of, own)| ratio(of, own));
            let bits = format!("{:.2}", line.bits_per_item / own.bits_per_item);
            [line.name.clone(), ratio(&line.insert, &own.insert)]
                .into_iter()
                .chain(lookups)
                .chain([remove, bits])
                .collect()
        };
        let heads = vec!["", "insert", "lookup, 0 % members", "50 %", "100 %", "delete", "bits an item"];
        table(&format!("Ratios to {}", own.name), heads, self.lines[1..].iter().map(row))
    }

    fn space(&self) -> Chapter {
        let heads = vec!["", "bits an item", "% false positives", "% load at first refusal", "members lost"];
        let row = |line: &Line| {
            let refusal = line.refusal.map_or_else(String::new, |load| format!("{:.1}", load * 100.0));
            let errors = match line.false_positives {
                0.0 => "0".to_owned(),
                rate => format!("{:.4}", rate * 100.0),
            };
            vec![
                line.name.clone(),
                format!("{:.1}", line.bits_per_item),
                errors,
                refusal,
                line.lost.to_string(),
            ]
        };
        Chapter {
            title: "Space and errors".to_owned(),
            words:
                "Bits for each item at this number of members, and false positives counted in ten million \
                    non-members. The load at the first refusal is that of filters made for a million; some \
                    never refuse."
                    .to_owned(),
            tables: vec![table("Space and errors", heads, self.lines.iter().map(row))],
            ..Chapter::default()
        }
    }

    fn counts(&self) -> Chapter {
        let heads =
            vec!["instructions each", "insert", "lookup of a non-member", "lookup of a member", "delete"];
        let row = |(name, counted): &(&'static str, Instructions)| {
            let cells = [counted.insert, counted.non_member, counted.member, counted.remove];
            let cells = cells.map(|count| count.map_or_else(String::new, |count| format!("{count:.1}")));
            [(*name).to_owned()].into_iter().chain(cells).collect()
        };
        Chapter {
            title: "Instructions".to_owned(),
            words: "Counted by callgrind in filters of 100 000: counts repeat exactly, times do not."
                .to_owned(),
            tables: vec![table("Instructions", heads, self.instructions.iter().map(row))],
            ..Chapter::default()
        }
    }
}

fn cell(figures: &Figures) -> String {
    format!("{:.1} ({:.1}…{:.1})", figures.median, figures.low, figures.high)
}

fn table(title: &str, heads: Vec<&str>, rows: impl Iterator<Item = Vec<String>>) -> Table {
    Table {
        title: title.to_owned(),
        heads: heads.into_iter().map(str::to_owned).collect(),
        rows: rows.collect(),
    }
}
