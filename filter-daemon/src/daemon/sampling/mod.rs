//! Drops in full, for those who watch them, and for `metrics.sources`: the kernel is asked for samples from when the first
//! comes until the last has gone.

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
use crate::control::sources::{By, Sources};
use crate::control::watching::{Seen, State};
use crate::control::wire::snapshot::TopSources;
use crate::control::wire::watch::Drop;
use crate::kernel::samples::{Sample, Samples};
use crate::text::{Explain, Explanation};

/// How often the ring is read: it holds what all processors tell in several times as long.
const APART: Duration = Duration::from_millis(50);

/// How often it is tried again where the kernel has refused it.
const AGAIN: Duration = Duration::from_secs(60);

/// Samples in a turn: some milliseconds' work. What is more waits in the ring.
const MOST: usize = 1024;

/// The part of the owner's state that is about samples.
pub struct Sampling {
    watching: Watching,
    ring: Option<Samples>,
    /// Why there is none where there should be.
    refused: Option<Explanation>,
    looked: Instant,
    /// So many of the sources that are dropped most are told to monitoring,
    told: usize,
    /// out of these, while it is more than none.
    sources: Sources,
    /// Interfaces by their numbers, as they were when sampling began, and those that have come since.
    interfaces: HashMap<u32, String>,
}

impl Sampling {
    /// For those who watch there.
    pub fn of(watching: Watching) -> Self {
        let (told, sources) = (0, Sources::default());
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

    /// So many sources are told to monitoring from now on.
    pub fn tell(&mut self, sources: usize, protection: &mut Protection) {
        if (self.told > 0) != (sources > 0) {
            self.sources = Sources::default();
        }
        self.told = sources;
        self.mind(protection);
    }

    /// Those that are dropped most of late, if they are to be told.
    pub fn top(&mut self) -> Option<TopSources> {
        if self.told == 0 {
            return None;
        }
        let mut rows = self.sources.by_source(By::Packets);
        rows.truncate(self.told);
        Some(TopSources {
            over: self.sources.over().as_secs_f64(),
            samples: self.sources.samples(),
            refused: self.refused.clone(),
            rows,
        })
    }

    /// How long until the ring is to be read.
    pub fn until_due(&self) -> Option<Duration> {
        let apart = if self.ring.is_some() { APART } else { AGAIN };
        let is_due = self.ring.is_some() || self.told > 0;
        is_due.then(|| apart.saturating_sub(self.looked.elapsed()))
    }

    /// Waits until somebody has come to watch, or has gone.
    pub async fn changed(&self) {
        self.watching.changed().await;
    }

    /// Switches sampling on or off, as it is wanted.
    pub fn mind(&mut self, protection: &mut Protection) {
        let is_wanted = self.watching.wants_drops() || self.told > 0;
        if is_wanted == self.ring.is_some() {
            return;
        }
        if !is_wanted {
            self.ring = None;
            self.watching.samples(State::Off);
            if let Err(error) = protection.filter_mut().sample_no_more() {
                error!("drops are still sampled although nobody watches: {}", error.explain());
            }
            return;
        }
        match protection.filter_mut().sample() {
            Ok(ring) => {
                (self.ring, self.looked, self.refused) = (Some(ring), clock::instant(), None);
                self.watching.samples(State::On);
            }
            Err(error) => {
                let why = error.explain();
                error!("drops cannot be shown to watching clients: {why}");
                self.watching.samples(State::Refused(why.clone()));
                self.refused = Some(why);
            }
        }
    }

    /// Tells those who watch what has come, if it is time to.
    pub fn look(&mut self, protection: &mut Protection, filtered: impl FnOnce() -> Vec<(u32, String)>) {
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
        for sample in samples {
            let at = wall.saturating_sub(Duration::from_nanos(now.saturating_sub(sample.at)));
            let told = self.told(&sample, at, protection);
            if self.told > 0 {
                self.sources.note(&told);
            }
            let headers = headers::of(&sample.frame).len();
            self.watching.tell_drop(Arc::new(Seen { at: sample.at, told, headers, frame: sample.frame }));
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
