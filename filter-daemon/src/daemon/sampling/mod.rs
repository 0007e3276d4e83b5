//! Drops in full, for those who watch them: the kernel is asked for samples from when the first comes until the last has gone.

mod headers;

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use filter_common::packet::{self, Source};
use filter_common::reason::Reason;
use tracing::error;

use super::commit::Protection;
use crate::clock;
use crate::control::Watching;
use crate::control::watching::{Seen, State};
use crate::control::wire::watch::Drop;
use crate::kernel::samples::{Sample, Samples};
use crate::text::Explain;

/// How often the ring is read: it holds what all processors tell in several times as long.
const APART: Duration = Duration::from_millis(50);

/// Samples in a turn: some milliseconds' work. What is more waits in the ring.
const MOST: usize = 1024;

/// The part of the owner's state that is about samples.
pub struct Sampling {
    watching: Watching,
    ring: Option<Samples>,
    looked: Instant,
    /// Interfaces by their numbers, as they were when sampling began, and those that have come since.
    interfaces: HashMap<u32, String>,
}

impl Sampling {
    /// For those who watch there.
    pub fn of(watching: Watching) -> Self {
        Self { watching, ring: None, looked: clock::instant(), interfaces: HashMap::new() }
    }

    /// How long until the ring is to be read.
    pub fn until_due(&self) -> Option<Duration> {
        self.ring.as_ref().map(|_| APART.saturating_sub(self.looked.elapsed()))
    }

    /// Waits until somebody has come to watch, or has gone.
    pub async fn changed(&self) {
        self.watching.changed().await;
    }

    /// Switches sampling on or off, as it is wanted.
    pub fn mind(&mut self, protection: &mut Protection) {
        let is_wanted = self.watching.wants_drops();
        if is_wanted == self.ring.is_some() {
            return;
        }
        if !is_wanted {
            self.ring = None;
            self.watching.samples(State::Off);
            if let Err(error) = protection.filter_mut().sample_no_more() {
                error!("drops are still told though nobody watches: {}", error.explain());
            }
            return;
        }
        match protection.filter_mut().sample() {
            Ok(ring) => {
                (self.ring, self.looked) = (Some(ring), clock::instant());
                self.watching.samples(State::On);
            }
            Err(error) => {
                error!("drops cannot be told to who watches: {}", error.explain());
                self.watching.samples(State::Refused(error.explain()));
            }
        }
    }

    /// Tells those who watch what has come, if it is time to.
    pub fn look(&mut self, protection: &Protection, filtered: impl FnOnce() -> Vec<(u32, String)>) {
        if self.until_due().is_none_or(|left| !left.is_zero()) {
            return;
        }
        self.looked = clock::instant();
        let Some(ring) = &mut self.ring else { return };
        let samples = ring.take(MOST);
        if samples.iter().any(|sample| !self.interfaces.contains_key(&sample.interface)) {
            self.interfaces = filtered().into_iter().collect();
        }
        let (now, wall) = (clock::kernel_now(), clock::since_1970());
        for sample in samples {
            let at = wall.saturating_sub(Duration::from_nanos(now.saturating_sub(sample.at)));
            let told = self.told(&sample, at, protection);
            self.watching.tell_drop(Arc::new(Seen { told, frame: sample.frame }));
        }
    }

    fn told(&self, sample: &Sample, at: Duration, protection: &Protection) -> Drop {
        let headers = headers::read(&sample.frame);
        let reason = sample.outcome.reason();
        let source = match packet::source(&sample.frame[..]) {
            Source::V4(address) => Some(Ipv4Addr::from(address).to_string()),
            Source::V6(address) => {
                let bits = u128::from(address.high) << 64 | u128::from(address.low);
                Some(Ipv6Addr::from(bits).to_string())
            }
            Source::NotIp | Source::Malformed | Source::TooManyTags => None,
        };
        // Whoever sends too many tags is dropped for no list's sake.
        let label = sample.label.filter(|_| reason != Reason::TooManyTags);
        let number = label.and_then(|label| protection.blocklist().number(label));
        Drop {
            at: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            nanoseconds: at.subsec_nanos() % 1_000_000,
            weight: sample.weight,
            lost: sample.lost,
            source,
            protocol: headers.map(|headers| headers::name(headers.protocol)),
            source_port: headers.and_then(|headers| headers.ports).map(|[source, _]| source),
            port: headers.and_then(|headers| headers.ports).map(|[_, port]| port),
            interface: self.interfaces.get(&sample.interface).cloned(),
            list: number.map(|number| number.name.to_string()),
            reason: reason.name().to_owned(),
            outcome: sample.outcome.name().to_owned(),
            bytes: sample.bytes,
            frame: None,
        }
    }
}
