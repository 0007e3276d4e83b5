//! Supports `match: new`: makes the flows that this host began known to the BPF programs. The egress program
//! learns them from packets sent. This module adds which UDP ports begin flows, and which flows were open
//! before, from the kernel's list of sockets.
//!
//! A UDP port begins flows if the kernel assigns it automatically (`ip_local_port_range` without
//! `ip_local_reserved_ports`) and no service uses it. A service is an unconnected socket on a port that it
//! asked for. The kernel does not report new services, so a thread looks every second (`watch`). Until it
//! sees a new service, packets sent from its port still begin flows.

mod open;
mod watch;

use tracing::{error, info};

use super::sockets::{self, Protocol};
use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::{About, Fault, status};
use crate::kernel::{Filter, KernelError};
use crate::text::{Explain, Explanation};
use watch::PortWatcher;

/// How many flows are handed over at once.
const PAGE: usize = 512;

/// The part of the owner's state that concerns own flows.
#[derive(Default)]
pub struct OwnFlows {
    watch: Option<PortWatcher>,
    /// How many open flows the last look found.
    found: u64,
    /// Why open flows could not be stored, and since when.
    refused: Option<(Timestamp, Explanation)>,
}

impl OwnFlows {
    /// Starts or stops making own flows known, as the present settings require.
    pub fn follow(&mut self, filter: &mut Filter) {
        if !filter.settings().match_new {
            self.watch = None;
            self.refused = None;
        } else if self.watch.is_none() {
            let begun = filter.ports().and_then(PortWatcher::begin);
            match begun {
                Ok(watch) => {
                    info!(
                        "match: new: UDP from ports {} starts flows, unless a service has the port",
                        watch.range()
                    );
                    self.watch = Some(watch);
                    self.seed(filter);
                }
                Err(error) => self.note_refusal(&error),
            }
        }
    }

    /// Adds the flows that are open now, which began before they were watched.
    pub fn seed(&mut self, filter: &mut Filter) {
        if self.watch.is_none() {
            return;
        }
        let seen = sockets::connections(Protocol::Tcp)
            .and_then(|tcp| Ok([tcp, sockets::connections(Protocol::Udp)?].concat()));
        let seen = seen.map_err(|error| KernelError::Sockets { reason: error.to_string() });
        let seeded = seen.and_then(|connections| {
            let keys = open::flows(&connections);
            keys.chunks(PAGE).try_for_each(|page| filter.seed(page.to_vec()))?;
            Ok(keys.len() as u64)
        });
        match seeded {
            Ok(found) => (self.found, self.refused) = (found, None),
            Err(error) => self.note_refusal(&error),
        }
    }

    fn note_refusal(&mut self, error: &KernelError) {
        let told = error.explain();
        if self.refused.as_ref().is_none_or(|(_, before)| *before != told) {
            error!("own flows: {told}");
        }
        let since = self.refused.as_ref().map_or_else(clock::now, |(since, _)| *since);
        self.refused = Some((since, told));
    }

    /// Reports which own flows or ports the programs do not know.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        let refused = self.refused.clone().map(|(since, told)| {
            let message =
                format!("not all connections of this host are known to the filter: {}", told.message);
            let remedy = told.remedy.unwrap_or_else(|| "to retry: filterd reload".to_owned());
            fault(since, message, remedy)
        });
        let unseen = self.watch.as_ref().and_then(PortWatcher::unseen).map(|(since, why)| {
            let message = format!("cannot read which UDP ports have services: {why}");
            fault(since, message, "filterd retries every second".to_owned())
        });
        refused.into_iter().chain(unseen)
    }

    /// The part of `status` about own flows.
    pub fn status(&self) -> Option<status::Flows> {
        let watch = self.watch.as_ref()?;
        Some(status::Flows {
            room: filter_common::flow::ROOM as u64,
            begun: watch.begun(),
            found: self.found,
            tcp_age: filter_common::flow::TCP_AGE / 1_000_000_000,
            age: filter_common::flow::OTHER_AGE / 1_000_000_000,
            ports: watch.range().to_string(),
        })
    }
}

fn fault(since: Timestamp, message: String, remedy: String) -> Fault {
    Fault {
        about: About::Protection,
        since: clock::on_the_wall(since),
        told: Explanation::new(message, remedy),
        id: None,
    }
}
