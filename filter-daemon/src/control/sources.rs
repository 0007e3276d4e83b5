//! Finds the sources that are dropped most, and the blocked destinations, from samples of the last seconds. The sums of weights are
//! estimates.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::wire::snapshot::Sampled;
use super::wire::watch::Drop;

/// The number of seconds that are summed.
const SECONDS: usize = 10;

const SECOND: Duration = Duration::from_secs(1);

/// The most sources counted separately in one second. A source with one packet in a hundred is among the
/// first of them. Packets of further sources are not counted by source.
const MOST: usize = 2048;

/// The order of sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceOrder {
    #[default]
    Packets,
    Bytes,
    Address,
}

impl SourceOrder {
    /// The name of the order.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::Address => "address",
        }
    }

    /// The next order in turn.
    pub const fn next(self) -> Self {
        match self {
            Self::Packets => Self::Bytes,
            Self::Bytes => Self::Address,
            Self::Address => Self::Packets,
        }
    }
}

/// The samples of the last seconds.
#[derive(Debug, Default)]
pub struct SampledSources {
    seconds: VecDeque<SecondSums>,
    /// The time of the last `go_on`.
    now: Option<Instant>,
    /// Why there are no samples.
    pub refused: Option<String>,
}

/// The sums of one second.
#[derive(Debug)]
struct SecondSums {
    begun: Instant,
    of_sources: HashMap<String, Sampled>,
    of_reasons: HashMap<String, Sampled>,
    samples: u64,
}

impl SampledSources {
    /// Sets the present time, and begins a new second if the last one is over.
    pub fn go_on(&mut self, now: Instant) {
        self.now = Some(now);
        if self.seconds.back().is_some_and(|second| now.duration_since(second.begun) < SECOND) {
            return;
        }
        self.seconds.push_back(SecondSums::from(now));
        let is_old = |second: &SecondSums| now.duration_since(second.begun) > SECOND * SECONDS as u32;
        while self.seconds.len() > SECONDS || self.seconds.front().is_some_and(is_old) {
            self.seconds.pop_front();
        }
    }

    /// Adds a drop to the present second. Drops before the first second are ignored.
    pub fn note(&mut self, drop: &Drop) {
        let Some(second) = self.seconds.back_mut() else { return };
        second.samples += 1;
        let source = drop.source.as_deref().unwrap_or("(none)");
        match &drop.destination {
            Some(destination) => add(&mut second.of_sources, &format!("to {destination}"), drop),
            None => add(&mut second.of_sources, source, drop),
        }
        add(&mut second.of_reasons, &drop.reason, drop);
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.seconds.iter().map(|second| second.samples).sum()
    }

    /// The time that the samples cover.
    pub fn over(&self) -> Duration {
        let begun = self.seconds.front().map(|second| second.begun);
        begun.zip(self.now).map_or(Duration::ZERO, |(begun, now)| now.duration_since(begun))
    }

    /// All sources in this order.
    pub fn by_source(&self, by: SourceOrder) -> Vec<Sampled> {
        let mut rows = sum(self.seconds.iter().map(|second| &second.of_sources));
        match by {
            SourceOrder::Packets => rows.sort_by(|a, b| b.packets.cmp(&a.packets).then(a.name.cmp(&b.name))),
            SourceOrder::Bytes => rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.name.cmp(&b.name))),
            SourceOrder::Address => {
                rows.sort_by_key(|row| (row.name.parse::<std::net::IpAddr>().ok(), row.name.clone()))
            }
        }
        rows
    }

    /// All reasons, the most packets first. They have no list, because packets of several lists may be
    /// dropped for the same reason.
    pub fn by_reason(&self) -> Vec<Sampled> {
        let mut rows = sum(self.seconds.iter().map(|second| &second.of_reasons));
        rows.iter_mut().for_each(|row| row.list = None);
        rows.sort_by(|a, b| b.packets.cmp(&a.packets).then(a.name.cmp(&b.name)));
        rows
    }
}

impl From<Instant> for SecondSums {
    fn from(begun: Instant) -> Self {
        Self { begun, of_sources: HashMap::new(), of_reasons: HashMap::new(), samples: 0 }
    }
}

fn add(rows: &mut HashMap<String, Sampled>, name: &str, drop: &Drop) {
    if rows.len() >= MOST && !rows.contains_key(name) {
        return;
    }
    let row = rows
        .entry(name.to_owned())
        .or_insert_with(|| Sampled { name: name.to_owned(), ..Sampled::default() });
    row.packets += drop.weight;
    row.bytes += drop.weight * u64::from(drop.bytes);
    row.samples += 1;
    row.list = drop.list.clone().or(row.list.take());
}

fn sum<'a>(seconds: impl Iterator<Item = &'a HashMap<String, Sampled>>) -> Vec<Sampled> {
    let mut sums: HashMap<&str, Sampled> = HashMap::new();
    for row in seconds.flat_map(HashMap::values) {
        let sum =
            sums.entry(&row.name).or_insert_with(|| Sampled { name: row.name.clone(), ..Sampled::default() });
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
    fn weights_are_summed_and_expire_after_seconds() {
        let (mut sources, begun) = (SampledSources::default(), Instant::now());
        sources.note(&drop("192.0.2.7", 64, 60));
        sources.go_on(begun);
        sources.note(&drop("192.0.2.9", 64, 60));
        sources.go_on(begun + SECOND);
        sources.note(&drop("192.0.2.9", 1, 60));
        sources.note(&drop("192.0.2.10", 3, 1500));
        let names = |by| -> Vec<_> {
            sources.by_source(by).into_iter().map(|row| (row.name, row.packets, row.bytes)).collect()
        };
        let [nine, ten] = [("192.0.2.9".to_owned(), 65, 3900), ("192.0.2.10".to_owned(), 3, 4500)];
        assert_eq!(names(SourceOrder::Packets), [nine.clone(), ten.clone()]);
        assert_eq!(names(SourceOrder::Bytes), [ten.clone(), nine.clone()]);
        assert_eq!(names(SourceOrder::Address), [nine, ten]);
        sources.go_on(begun + SECOND * 3 / 2);
        assert_eq!((sources.samples(), sources.over()), (3, SECOND * 3 / 2));
        let reasons = sources.by_reason();
        assert_eq!((reasons.len(), reasons[0].packets, reasons[0].samples), (1, 68, 3));
        assert_eq!(reasons[0].list, None, "no list alone has it");
        sources.go_on(begun + SECOND * 10);
        assert_eq!((sources.samples(), sources.over()), (3, SECOND * 10));
        sources.go_on(begun + SECOND * 11);
        assert_eq!((sources.samples(), sources.over()), (2, SECOND * 10));
        sources.go_on(begun + SECOND * 60);
        assert_eq!((sources.samples(), sources.over()), (0, Duration::ZERO));
        assert_eq!(sources.by_source(SourceOrder::Packets), vec![]);
    }

    #[test]
    fn many_sources_use_bounded_memory() {
        let mut sources = SampledSources::default();
        sources.go_on(Instant::now());
        (0..3000)
            .for_each(|number| sources.note(&drop(&format!("10.0.{}.{}", number >> 8, number & 255), 1, 60)));
        sources.note(&drop("10.0.0.1", 1, 60));
        assert_eq!((sources.samples(), sources.by_source(SourceOrder::Packets).len()), (3001, MOST));
        assert_eq!(
            sources.by_source(SourceOrder::Packets)[0].packets,
            2,
            "who is known goes on to be counted"
        );
    }
}
