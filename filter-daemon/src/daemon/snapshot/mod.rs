//! A typed copy of the whole state at one moment. Status, stats, lists, metrics and the status page are made
//! from it by the functions in `told`.

mod told;

use super::owner::Owner;
use crate::clock;
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::control::wire::{self, About, Fault, lists, stats, status};
use crate::kernel::{KernelError, PacketCounts};
use crate::text::Explain;

impl Owner {
    /// The whole state. If the kernel's counters cannot be read, that is one of the faults.
    pub fn snapshot(&mut self) -> Snapshot {
        match self.protection.filter_mut().counted() {
            Ok(counted) => self.picture(&counted),
            Err(error) => {
                let mut told = error.explain();
                told.message = format!("cannot read the packet counters: {}", told.message);
                let since = clock::on_the_wall(clock::now());
                let mut snapshot = self.picture(&PacketCounts::default());
                snapshot.faults.push(Fault { about: About::Protection, since, told, id: None });
                snapshot
            }
        }
    }

    /// The state of the daemon, with the occupancy of its tables.
    pub fn status(&mut self) -> status::Reply {
        told::status(self.snapshot())
    }

    /// The packet counts by outcome.
    pub fn stats(&mut self) -> Result<stats::Reply, KernelError> {
        let counted = self.protection.filter_mut().counted()?;
        Ok(told::stats(self.picture(&counted)))
    }

    /// Every list with its counts and sources.
    pub fn lists_report(&mut self) -> lists::Reply {
        let mut report = self.counting.report(&self.protection, &self.lists.sources);
        let known = (self.protection.blocklist(), &self.lists.sources);
        self.feeds.tell(&mut report.lists, &self.config, known);
        let guarded = self.guard.counts(self.protection.blocklist());
        for list in &mut report.lists {
            list.guarded = guarded.get(list.name.as_str()).copied().unwrap_or(0);
        }
        report
    }

    fn picture(&mut self, counted: &PacketCounts) -> Snapshot {
        let lists::Reply { counted_since, rate_over, other, gone, lists, .. } = self.lists_report();
        let guarded = lists.iter().map(|list| (list.name.clone(), list.guarded)).collect();
        let crowdsec = self.crowdsec.status(&guarded);
        let mut interfaces: Vec<_> =
            self.interfaces.iter().map(super::interfaces::WatchedInterface::status).collect();
        self.traffic.tell(&mut interfaces, &self.interfaces.filtered());
        let taken = u64::try_from(clock::since_1970().as_millis()).unwrap_or(u64::MAX);
        Snapshot {
            version: wire::VERSION,
            taken,
            uptime: u64::try_from(clock::uptime().as_millis()).unwrap_or(u64::MAX),
            filterd: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            started: clock::on_the_wall(self.started),
            user: self.privileges.user.clone(),
            landlock_version: self.privileges.confinement.landlock(),
            config: self.configuration.name(),
            state_dir: Some(self.state_directory()),
            faults: self.faults(),
            enforce: self.protection.filter().settings().enforce,
            remarks: self.remarks(),
            paused: self.pause.status(),
            trial: self.configuration.trial.status(),
            reload: self.reload.get().map(|reload| reload.what().to_owned()),
            interfaces,
            targets: Some(self.targets()),
            targets_out: self.targets_out(),
            tables: self.tables(),
            changes: self.protection.latencies().told(),
            flows: self.flows.status(),
            reasons: told::reasons(counted),
            packets_since: (counted.since > 0).then_some(counted.since),
            by_interface: told::by_interface(counted),
            counted_since,
            rate_over,
            other,
            gone,
            top_sources: self.sampling.top(),
            crowdsec,
            lists,
        }
    }
}
