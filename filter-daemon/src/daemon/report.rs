//! What the daemon says of itself.

use filter_common::verdict::Verdict;
use tracing::{info, warn};

use super::interfaces::Watched;
use super::owner::Owner;
use crate::blocklist::List;
use crate::control::wire::{self, reload, stats, status};
use crate::kernel::{KernelError, Occupancy};

impl Owner {
    /// What the daemon is and how full its tables are.
    pub fn status(&self) -> status::Reply {
        status::Reply {
            version: wire::VERSION,
            filterd: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            started: self.started.secs(),
            config: self.run.config.as_ref().map(|path| path.display().to_string()),
            enforce: self.config.enforce,
            interfaces: self.interfaces.iter().map(Watched::status).collect(),
            tables: self.tables(),
            lists: self.blocklist.lists().iter().map(|(_, list)| self.list_status(list)).collect(),
        }
    }

    /// What became of how many packets.
    pub fn stats(&mut self) -> Result<stats::Reply, KernelError> {
        let counted = self.filter.counters()?.into_iter().map(|(reason, packets)| stats::Counted {
            reason: reason.name().to_owned(),
            verdict: match reason.verdict() {
                Verdict::Pass(_) => "pass".to_owned(),
                Verdict::Drop(_) => "drop".to_owned(),
            },
            packets,
        });
        Ok(stats::Reply { version: wire::VERSION, enforce: self.config.enforce, reasons: counted.collect() })
    }

    /// One line for the log once everything is in place.
    pub fn summary(&self) -> String {
        let attached = |one: &Watched| Some(format!("{} ({})", one.name(), one.attached()?.mode));
        let mut links: Vec<_> = self.interfaces.iter().filter_map(attached).collect();
        if links.is_empty() {
            links.push("no interface yet".to_owned());
        }
        let targets: u64 = self.blocklist.lists().iter().map(|(_, list)| list.targets).sum();
        let verb = if self.config.enforce { "dropping" } else { "counting, not dropping," };
        format!("{verb} packets from {targets} targets on {}", links.join(", "))
    }

    fn tables(&self) -> Vec<status::Table> {
        let networks =
            self.blocklist.lengths4().filter(|(length, _)| *length <= 24).map(|(_, count)| count).sum();
        let networks =
            Occupancy { entries: networks, capacity: 1 << 24, bytes: self.filter.networks_bytes() };
        vec![
            table("ipv4 addresses", self.filter.addresses(), "exact"),
            table("ipv4 prefixes", networks, "exact"),
            table("ipv6", self.filter.six(), "exact for /64s, else wrong for less than one packet in 10^17"),
        ]
    }

    fn list_status(&self, list: &List) -> status::ListStatus {
        status::ListStatus {
            name: list.name.to_string(),
            kind: list.kind.name().to_owned(),
            targets: list.targets,
            rejected: self.rejected.get(&*list.name).copied().unwrap_or_default(),
            error: self.unusable.get(&*list.name).cloned(),
        }
    }
}

/// Tells the log what a reload changed.
pub fn log_reload(reloaded: &reload::Reply) {
    reloaded.warnings.iter().for_each(|warning| warn!("{warning}"));
    let reload::Reply { entered, left, unchanged, milliseconds, .. } = reloaded;
    info!("reloaded: +{entered} −{left}, {unchanged} lists unchanged, {milliseconds} ms");
}

fn table(name: &str, occupancy: Occupancy, certainty: &str) -> status::Table {
    let Occupancy { entries, capacity, bytes } = occupancy;
    status::Table { name: name.to_owned(), entries, capacity, bytes, certainty: certainty.to_owned() }
}
