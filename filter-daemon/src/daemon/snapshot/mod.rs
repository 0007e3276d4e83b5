//! Collects the whole state at one moment. Status, stats, lists, metrics and the status page are made from
//! this copy alone. `views` makes the first three.

pub mod views;

use super::owner::Owner;
use crate::clock;
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::control::wire::{self, About, Fault, lists};
use crate::kernel::{KernelError, PacketCounts};
use crate::text::Explain;

impl Owner {
    /// The whole state. If the kernel's counters cannot be read, that is one of the faults.
    pub fn snapshot(&mut self) -> Snapshot {
        self.counted_snapshot().unwrap_or_else(|error| {
            let mut told = error.explain();
            told.message = format!("cannot read the packet counters: {}", told.message);
            let since = clock::on_the_wall(clock::now());
            let mut snapshot = self.collect(&PacketCounts::default());
            snapshot.faults.push(Fault { about: About::Protection, since, told, id: None });
            snapshot
        })
    }

    /// The whole state. Fails if the kernel's counters cannot be read.
    pub fn counted_snapshot(&mut self) -> Result<Snapshot, KernelError> {
        let counted = self.core.protection.filter_mut().counted()?;
        Ok(self.collect(&counted))
    }

    fn collect(&mut self, counted: &PacketCounts) -> Snapshot {
        let (blocklist, sources) = (self.core.protection.blocklist(), &self.core.lists.sources);
        let lists::Reply { counted_since, rate_over, other, gone, mut lists, .. } =
            self.counters.counting.report(&self.core.protection, sources);
        self.sources.feeds.tell(&mut lists, &self.configuration.config, (blocklist, sources));
        let guarded = self.guard.counts(blocklist);
        for list in &mut lists {
            list.guarded = guarded.get(list.name.as_str()).copied().unwrap_or(0);
        }
        let crowdsec = self.crowdsec.status(&guarded);
        let mut interfaces: Vec<_> =
            self.attachment.interfaces.iter().map(super::interfaces::WatchedInterface::status).collect();
        self.counters.traffic.tell(&mut interfaces, &self.attachment.interfaces.filtered());
        let taken = u64::try_from(clock::since_1970().as_millis()).unwrap_or(u64::MAX);
        Snapshot {
            version: wire::VERSION,
            taken,
            uptime: u64::try_from(clock::uptime().as_millis()).unwrap_or(u64::MAX),
            filterd: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            started: clock::on_the_wall(self.process.started),
            user: self.process.privileges.user.clone(),
            landlock_version: self.process.privileges.confinement.landlock(),
            config: self.configuration.name(),
            state_dir: Some(self.state_directory()),
            faults: self.faults(),
            enforce: self.core.protection.filter().settings().enforce,
            remarks: self.remarks(),
            paused: self.pause.status(),
            trial: self.configuration.trial.status(),
            reload: self.core.activity.map(str::to_owned),
            interfaces,
            targets: Some(self.targets()),
            targets_out: self.targets_out(),
            tables: self.tables(),
            changes: self.core.protection.latencies().told(),
            flows: self.attachment.flows.status(),
            reasons: views::reasons(counted),
            packets_since: (counted.since > 0).then_some(counted.since),
            by_interface: views::by_interface(counted),
            counted_since,
            rate_over,
            other,
            gone,
            top_sources: self.counters.sampling.top(),
            crowdsec,
            lists,
        }
    }
}
