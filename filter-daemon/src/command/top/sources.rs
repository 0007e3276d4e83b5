//! Who is dropped most of late: sums of samples' weights, which are estimates, over the seconds before.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;

use crate::control::wire::watch::Drop;

/// Over so many seconds.
const SECONDS: usize = 10;

/// Senders of one second that are told apart; samples of a second are not many more. What comes beyond counts for none.
const MOST: usize = 8192;

/// What stands in one row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The address, or the reason.
    #[serde(rename = "source")]
    pub name: String,
    /// The list that its drops count for; of several, the last one that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// How many drops the samples stand for.
    pub packets: u64,
    /// How many bytes these had.
    pub bytes: u64,
    /// From how many samples that is known.
    pub samples: u64,
}

/// What sources stand in order of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    #[default]
    Packets,
    Bytes,
    Address,
}

impl By {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::Address => "address",
        }
    }

    /// The one after it.
    pub const fn next(self) -> Self {
        match self {
            Self::Packets => Self::Bytes,
            Self::Bytes => Self::Address,
            Self::Address => Self::Packets,
        }
    }
}

/// What was sampled of late.
#[derive(Debug, Default)]
pub struct Sources {
    seconds: VecDeque<Second>,
    /// Why nothing is.
    pub refused: Option<String>,
}

/// Sums of one second.
#[derive(Debug, Default)]
struct Second {
    of_sources: HashMap<String, Row>,
    of_reasons: HashMap<String, Row>,
    samples: u64,
}

impl Sources {
    /// A second has begun.
    pub fn begin_second(&mut self) {
        self.seconds.push_back(Second::default());
        if self.seconds.len() > SECONDS {
            self.seconds.pop_front();
        }
    }

    /// A drop of this second.
    pub fn note(&mut self, drop: &Drop) {
        if self.seconds.is_empty() {
            self.begin_second();
        }
        let Some(second) = self.seconds.back_mut() else { return };
        second.samples += 1;
        let source = drop.source.as_deref().unwrap_or("(none)");
        add(&mut second.of_sources, source, drop);
        add(&mut second.of_reasons, &drop.reason, drop);
    }

    /// How many samples that is, in how many seconds.
    pub fn known(&self) -> (u64, usize) {
        (self.seconds.iter().map(|second| second.samples).sum(), self.seconds.len())
    }

    /// All sources, in that order.
    pub fn by_source(&self, by: By) -> Vec<Row> {
        let mut rows = sum(self.seconds.iter().map(|second| &second.of_sources));
        match by {
            By::Packets => rows.sort_by(|a, b| b.packets.cmp(&a.packets).then(a.name.cmp(&b.name))),
            By::Bytes => rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.name.cmp(&b.name))),
            By::Address => {
                rows.sort_by_key(|row| (row.name.parse::<std::net::IpAddr>().ok(), row.name.clone()))
            }
        }
        rows
    }

    /// All reasons, the most packets first.
    pub fn by_reason(&self) -> Vec<Row> {
        let mut rows = sum(self.seconds.iter().map(|second| &second.of_reasons));
        rows.sort_by(|a, b| b.packets.cmp(&a.packets).then(a.name.cmp(&b.name)));
        rows
    }
}

fn add(rows: &mut HashMap<String, Row>, name: &str, drop: &Drop) {
    if rows.len() >= MOST && !rows.contains_key(name) {
        return;
    }
    let row = rows.entry(name.to_owned()).or_insert_with(|| Row { name: name.to_owned(), ..Row::default() });
    row.packets += drop.weight;
    row.bytes += drop.weight * u64::from(drop.bytes);
    row.samples += 1;
    row.list = drop.list.clone().or(row.list.take());
}

fn sum<'a>(seconds: impl Iterator<Item = &'a HashMap<String, Row>>) -> Vec<Row> {
    let mut sums: HashMap<&str, Row> = HashMap::new();
    for row in seconds.flat_map(HashMap::values) {
        let sum = sums.entry(&row.name).or_insert_with(|| Row { name: row.name.clone(), ..Row::default() });
        sum.packets += row.packets;
        sum.bytes += row.bytes;
        sum.samples += row.samples;
        sum.list = row.list.clone().or(sum.list.take());
    }
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drop(source: &str, weight: u64, bytes: u32) -> Drop {
        let (source, reason) = (Some(source.to_owned()), "ipv4_address".to_owned());
        Drop { source, weight, bytes, reason, list: Some("ssh".into()), ..Drop::default() }
    }

    #[test]
    fn weights_are_summed_over_the_seconds_before_and_forgotten_then() {
        let mut sources = Sources::default();
        sources.note(&drop("192.0.2.9", 64, 60));
        sources.begin_second();
        sources.note(&drop("192.0.2.9", 1, 60));
        sources.note(&drop("192.0.2.10", 3, 1500));
        let names = |by| -> Vec<_> {
            sources.by_source(by).into_iter().map(|row| (row.name, row.packets, row.bytes)).collect()
        };
        let [nine, ten] = [("192.0.2.9".to_owned(), 65, 3900), ("192.0.2.10".to_owned(), 3, 4500)];
        assert_eq!(names(By::Packets), [nine.clone(), ten.clone()]);
        assert_eq!(names(By::Bytes), [ten.clone(), nine.clone()]);
        assert_eq!(names(By::Address), [nine, ten]);
        assert_eq!(sources.known(), (3, 2));
        let reasons = sources.by_reason();
        assert_eq!((reasons.len(), reasons[0].packets, reasons[0].samples), (1, 68, 3));
        (0..SECONDS).for_each(|_| sources.begin_second());
        assert_eq!((sources.known(), sources.by_source(By::Packets)), ((0, SECONDS), vec![]));
    }
}
