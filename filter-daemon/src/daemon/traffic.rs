//! The recent packet rates of each interface, from the counters at the latest readings.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::clock;
use crate::control::wire::status;
use crate::kernel::received::{ReceiveCounters, received};
use crate::kernel::{InterfaceDrops, PacketCounts};

/// The time between two readings. A rate covers between one and two of these intervals.
const APART: Duration = Duration::from_secs(5);

/// No rate is reported over less time than this.
const SHORTEST: Duration = Duration::from_millis(500);

/// The part of the owner's state that concerns packet rates.
#[derive(Default)]
pub struct Traffic {
    /// The two earlier readings, the older one first.
    before: [Option<TrafficSample>; 2],
    latest: Option<TrafficSample>,
}

/// The counters at one moment, by the number of the interface.
#[derive(Clone)]
struct TrafficSample {
    at: Instant,
    of: HashMap<u32, ReceiveCounters>,
    /// Packets to be dropped.
    drops: HashMap<u32, u64>,
}

impl Traffic {
    /// The time until the next reading.
    pub fn until_due(&self) -> Duration {
        self.before[1].as_ref().map_or(Duration::ZERO, |look| APART.saturating_sub(look.at.elapsed()))
    }

    /// Reads the counters of these interfaces.
    pub async fn look(&mut self, filtered: &[(u32, String)], counts: &PacketCounts) {
        // If the counters cannot be read, no rates are reported.
        let of = received(filtered).await.unwrap_or_default();
        let look = TrafficSample {
            at: clock::instant(),
            of: of.into_iter().map(|one| (one.index, one)).collect(),
            drops: counts.interfaces.iter().filter_map(InterfaceDrops::drops).collect(),
        };
        if self.until_due().is_zero() {
            self.before.rotate_left(1);
            self.before[1] = Some(look.clone());
        }
        self.latest = Some(look);
    }

    /// Adds counters and rates to the status of the filtered interfaces.
    pub fn tell(&self, interfaces: &mut [status::Interface], filtered: &[(u32, String)]) {
        let Some(latest) = &self.latest else { return };
        for (index, name) in filtered {
            let told = interfaces.iter_mut().find(|told| told.name == *name);
            let (Some(told), Some(now)) = (told, latest.of.get(index)) else { continue };
            told.driver.clone_from(&now.driver);
            told.received = Some(status::Received {
                kernel_rx_packets: now.packets,
                kernel_rx_bytes: now.bytes,
                kernel_rx_dropped: now.dropped,
                kernel_rx_errors: now.errors,
            });
            told.packets_per_second = self.rate(|look| Some(look.of.get(index)?.packets));
            told.drops_per_second = self.rate(|look| look.drops.get(index).copied());
        }
    }

    fn rate(&self, of: impl Fn(&TrafficSample) -> Option<u64>) -> Option<f64> {
        let latest = self.latest.as_ref()?;
        let is_long_ago = |look: &&TrafficSample| latest.at.duration_since(look.at) >= SHORTEST;
        let before = self.before.iter().flatten().find(is_long_ago)?;
        let more = of(latest)?.checked_sub(of(before)?)?;
        Some((more as f64 / latest.at.duration_since(before.at).as_secs_f64() * 10.0).round() / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at: Instant, packets: u64, drops: u64) -> TrafficSample {
        let of =
            ReceiveCounters { index: 2, packets, driver: Some("veth".into()), ..ReceiveCounters::default() };
        TrafficSample { at, of: HashMap::from([(2, of)]), drops: HashMap::from([(2, drops)]) }
    }

    #[test]
    fn a_rate_is_over_the_last_seconds() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut traffic = Traffic { before: [None, Some(look(begun, 1000, 10))], latest: None };
        let told = |traffic: &Traffic| {
            let mut told = [status::Interface { name: "eth0".into(), ..Default::default() }];
            traffic.tell(&mut told, &[(2, "eth0".into())]);
            (told[0].packets_per_second, told[0].drops_per_second)
        };
        assert_eq!(told(&traffic), (None, None));
        traffic.latest = Some(look(begun + Duration::from_millis(100), 1010, 10));
        assert_eq!(told(&traffic), (None, None), "over so short a time nothing is said");
        traffic.latest = Some(look(after(4), 1100, 50));
        assert_eq!(told(&traffic), (Some(25.0), Some(10.0)));
        traffic.before = [Some(look(begun, 1000, 10)), Some(look(after(5), 2000, 60))];
        traffic.latest = Some(look(after(8), 9000, 90));
        assert_eq!(told(&traffic), (Some(1000.0), Some(10.0)));
        // The interface was created again, and its counters start at zero.
        traffic.latest = Some(look(after(8), 5, 90));
        assert_eq!(told(&traffic), (None, Some(10.0)));
    }
}
