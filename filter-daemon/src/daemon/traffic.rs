//! How fast packets come and go of late, by interface: the counters as they were at the latest looks.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::clock;
use crate::control::wire::status;
use crate::kernel::received::{Received, received};

/// How far apart looks are: a rate is over one to two of these.
const APART: Duration = Duration::from_secs(5);

/// In less time nothing is said of a rate.
const SHORTEST: Duration = Duration::from_millis(500);

/// The part of the owner's state that is about how fast packets come and go.
#[derive(Default)]
pub struct Traffic {
    /// The two looks before, the older first.
    before: [Option<Look>; 2],
    latest: Option<Look>,
}

/// What was counted at one moment, by the number of the interface.
#[derive(Clone)]
struct Look {
    at: Instant,
    of: HashMap<u32, Received>,
}

impl Traffic {
    /// How long until the next look.
    pub fn until_due(&self) -> Duration {
        self.before[1].as_ref().map_or(Duration::ZERO, |look| APART.saturating_sub(look.at.elapsed()))
    }

    /// Looks at what is counted on these interfaces.
    pub async fn look(&mut self, filtered: &[(u32, String)]) {
        // What cannot be asked is not told.
        let of = received(filtered).await.unwrap_or_default();
        let look = Look { at: clock::instant(), of: of.into_iter().map(|one| (one.index, one)).collect() };
        if self.until_due().is_zero() {
            self.before.rotate_left(1);
            self.before[1] = Some(look.clone());
        }
        self.latest = Some(look);
    }

    /// Adds what is known to what is told of interfaces, of which these are filtered.
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
            told.packets_per_second = self.rate(*index, now.packets);
        }
    }

    fn rate(&self, index: u32, now: u64) -> Option<f64> {
        let at = self.latest.as_ref()?.at;
        let is_long_ago = |look: &&Look| at.duration_since(look.at) >= SHORTEST;
        let before = self.before.iter().flatten().find(is_long_ago)?;
        let more = now.checked_sub(before.of.get(&index)?.packets)?;
        Some((more as f64 / at.duration_since(before.at).as_secs_f64() * 10.0).round() / 10.0)
    }
}
