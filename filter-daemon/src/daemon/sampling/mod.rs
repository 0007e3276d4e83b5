//! Samples complete drops for clients that watch them and for `metrics.sources`. The kernel writes samples
//! while at least one of them is active.

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
use crate::control::sources::{SampledSources, SourceOrder};
use crate::control::watching::{SampledDrop, SamplingState};
use crate::control::wire::snapshot::TopSources;
use crate::control::wire::watch::Drop;
use crate::kernel::interface::Framing;
use crate::kernel::samples::{Sample, Samples};
use crate::text::{Explain, Explanation};

/// How often the ring is read. It holds the samples that all processors write in several times as long.
const APART: Duration = Duration::from_millis(50);

/// How often to try again if the kernel refused the ring.
const AGAIN: Duration = Duration::from_secs(60);

/// The most samples read in one turn, which takes some milliseconds. More of them stay in the ring.
const MOST: usize = 1024;

/// The part of the owner's state that concerns samples.
pub struct Sampling {
    watching: Watching,
    ring: Option<Samples>,
    /// Why sampling could not begin.
    refused: Option<Explanation>,
    looked: Instant,
    /// How many of the most dropped sources are reported in the metrics.
    told: usize,
    /// The counts of sources, while any are reported.
    sources: SampledSources,
    /// Interfaces by their numbers, as they were when sampling began, and later ones.
    interfaces: HashMap<u32, SampledInterface>,
}

/// An interface whose drops are sampled.
#[derive(Clone, Debug)]
pub struct SampledInterface {
    pub name: String,
    pub framing: Framing,
}

impl Sampling {
    /// Samples for the clients of this `Watching`.
    pub fn of(watching: Watching) -> Self {
        let (told, sources) = (0, SampledSources::default());
        Self {
            watching,
            ring: None,
            refused: None,
            looked: clock::instant(),
            told,
            sources,
            interfaces: HashMap::new(),
        }
    }

    /// Sets how many sources the metrics report.
    pub fn tell(&mut self, sources: usize, protection: &mut Protection) {
        if (self.told > 0) != (sources > 0) {
            self.sources = SampledSources::default();
        }
        self.told = sources;
        self.mind(protection);
    }

    /// The sources dropped most in the last seconds, if they are reported.
    pub fn top(&mut self) -> Option<TopSources> {
        if self.told == 0 {
            return None;
        }
        let mut rows = self.sources.by_source(SourceOrder::Packets);
        rows.truncate(self.told);
        Some(TopSources {
            over: self.sources.over().as_secs_f64(),
            samples: self.sources.samples(),
            refused: self.refused.clone(),
            rows,
        })
    }

    /// The time until the ring must be read.
    pub fn until_due(&self) -> Option<Duration> {
        let apart = if self.ring.is_some() { APART } else { AGAIN };
        let is_due = self.ring.is_some() || self.told > 0;
        is_due.then(|| apart.saturating_sub(self.looked.elapsed()))
    }

    /// Waits until a client begins or ends to watch.
    pub async fn changed(&self) {
        self.watching.changed().await;
    }

    /// Starts or stops sampling, as needed.
    pub fn mind(&mut self, protection: &mut Protection) {
        let is_wanted = self.watching.wants_drops() || self.told > 0;
        if is_wanted == self.ring.is_some() {
            return;
        }
        if !is_wanted {
            self.ring = None;
            self.watching.samples(SamplingState::Off);
            if let Err(error) = protection.filter_mut().sample_no_more() {
                error!("drops are still sampled although nobody watches: {}", error.explain());
            }
            return;
        }
        match protection.filter_mut().sample() {
            Ok(ring) => {
                (self.ring, self.looked, self.refused) = (Some(ring), clock::instant(), None);
                self.watching.samples(SamplingState::On);
            }
            Err(error) => {
                let why = error.explain();
                error!("drops cannot be shown to watching clients: {why}");
                self.watching.samples(SamplingState::Refused(why.clone()));
                self.refused = Some(why);
            }
        }
    }

    /// Reads the ring if that is due, and sends the samples to clients.
    pub fn look(
        &mut self,
        protection: &mut Protection,
        filtered: impl FnOnce() -> Vec<(u32, SampledInterface)>,
    ) {
        if self.until_due().is_none_or(|left| !left.is_zero()) {
            return;
        }
        self.looked = clock::instant();
        let Some(ring) = &mut self.ring else { return self.mind(protection) };
        let samples = ring.take(MOST);
        if self.told > 0 {
            self.sources.go_on(self.looked);
        }
        if samples.iter().any(|sample| !self.interfaces.contains_key(&sample.interface)) {
            self.interfaces = filtered().into_iter().collect();
        }
        let (now, wall) = (clock::kernel_now(), clock::since_1970());
        for mut sample in samples {
            let interface = self.interfaces.get(&sample.interface);
            if interface.is_some_and(|interface| interface.framing == Framing::Bare) {
                sample.frame = headers::with_ethernet(&sample.frame);
            }
            let at = wall.saturating_sub(Duration::from_nanos(now.saturating_sub(sample.at)));
            let told = self.told(&sample, at, protection);
            if self.told > 0 {
                self.sources.note(&told);
            }
            let headers = headers::of(&sample.frame).len();
            self.watching.tell_drop(Arc::new(SampledDrop {
                at: sample.at,
                told,
                headers,
                frame: sample.frame,
            }));
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
        let destination = (reason == Reason::Outbound).then(|| headers::destination(&sample.frame)).flatten();
        // A packet with too many tags is dropped without a list.
        let label = sample.label.filter(|_| reason != Reason::TooManyTags);
        let number = label.and_then(|label| protection.blocklist().number(label));
        Drop {
            at: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            nanoseconds: at.subsec_nanos() % 1_000_000,
            weight: sample.weight,
            lost: sample.lost,
            source,
            destination: destination.map(|address| address.to_string()),
            protocol: headers.map(|headers| headers::name(headers.protocol)),
            source_port: headers.and_then(|headers| headers.ports).map(|[source, _]| source),
            port: headers.and_then(|headers| headers.ports).map(|[_, port]| port),
            interface: self.interfaces.get(&sample.interface).map(|interface| interface.name.clone()),
            list: number.map(|number| number.name.to_string()),
            reason: reason.name().to_owned(),
            outcome: sample.outcome.name().to_owned(),
            bytes: sample.bytes,
            frame: None,
        }
    }
}
