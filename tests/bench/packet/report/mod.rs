//! What came out, for people and for programs: one file a chapter of the page.

mod costs;
mod features;
mod goals;
mod programs;
mod ratios;

use pages::page::{Chapter, Page};
use serde_json::{Value, json};

use crate::code::Code;
use crate::hits::Hits;
use crate::peer::Peer;
use crate::plan::{Amount, Measurement, Pace, Plan, Senders, Spec};
use crate::real::Outcome;
use crate::rounds::Measured;
use crate::sent::Sent;

pub use costs::above;

/// Everything that is to be told.
#[derive(Debug)]
pub struct Report<'a> {
    pub machine: String,
    pub plan: &'a Plan,
    pub measured: Vec<Measured>,
    pub code: Vec<Code>,
    pub real: Outcome,
    pub sent: Sent,
    pub hits: Hits,
}

impl Report<'_> {
    /// For people.
    pub fn page(&self) -> Page {
        Page {
            title: "What a packet costs".to_owned(),
            command: "cargo xtask bench packet".to_owned(),
            machine: self.machine.clone(),
            method: self.method(),
            chapters: self.chapters(),
        }
    }

    fn chapters(&self) -> Vec<Chapter> {
        let mut chapters = vec![
            costs::chapter(self, Pace::Overlapping),
            costs::chapter(self, Pace::Alone),
            features::chapter(self),
            self.hits.chapter(),
            self.sent.chapter(),
            ratios::chapter(self),
            goals::chapter(self),
        ];
        chapters.extend(self.real.chapters());
        chapters.push(programs::chapter(self));
        chapters
    }

    /// For programs: the same tables, and all figures one by one.
    pub fn json(&self) -> Value {
        let each = self.plan.measurements.iter().zip(&self.measured);
        let packets: Vec<_> = each.map(|(what, measured)| self.measurement_json(what, measured)).collect();
        let mut json = self.page().json();
        json["nanoseconds"] = packets.into();
        json["code"] = programs::json(&self.code);
        json
    }

    fn method(&self) -> String {
        let Plan { rounds, warm, packets, .. } = self.plan;
        format!(
            "Programs run with BPF_PROG_TEST_RUN, and every packet has another random source. All programs \
             take turns in each of {rounds} rounds. filterd and \"{}\" get new tables each time, up to a \
             million entries, because the place of a table in memory is a matter of chance. {} come first \
             and do not count, so that the caches settle. Then {} follow without a pause, and the sender \
             itself reads the clock before the first and after the last of them. Programs that take more than \
             about {} ns for a packet get fewer packets to warm up, and those that take more than {} ns are \
             measured with fewer. Figures are medians of nanoseconds above the program that only parses; \
             brackets hold the middle half of the rounds.",
            Peer::Load,
            warm.told("packets"),
            packets.told("packets"),
            limit(*warm),
            limit(*packets)
        )
    }

    /// What came out for one of them.
    fn find(&self, spec: Spec, senders: Senders, pace: Pace) -> Option<&Measured> {
        let is_it = |what: &Measurement| {
            self.plan.subjects[what.subject] == spec && what.senders == senders && what.pace == pace
        };
        Some(&self.measured[self.plan.measurements.iter().position(is_it)?])
    }

    /// The median above parsing.
    fn above(&self, spec: Spec, senders: Senders, pace: Pace) -> Option<f64> {
        Some(self.find(spec, senders, pace)?.above_parsing.median)
    }

    fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.plan.subjects.iter().map(|spec| spec.entries).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
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

/// From how many nanoseconds on it is the time that counts.
fn limit(amount: Amount) -> u128 {
    amount.at_most.as_nanos() / u128::from(amount.packets)
}
