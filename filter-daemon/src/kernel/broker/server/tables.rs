//! Makes, publishes and discards maps and judges.

use std::os::fd::OwnedFd;

use aya::maps::MapData;

use super::super::request::{MapUse, Reply};
use super::super::storage;
use super::{BrokerServer, mend};
use crate::kernel::KernelError;

impl BrokerServer {
    pub(super) fn collect(
        &mut self,
        map: MapUse,
        waits: bool,
    ) -> Result<(Reply, Option<OwnedFd>), KernelError> {
        let Some(made) = self.making.collect(map, waits) else {
            return if self.making.has(map) {
                Ok((Reply::NotYet, None))
            } else {
                Err(KernelError::refused("hand a table over", "nobody has begun it"))
            };
        };
        let shared = made.and_then(|made| self.hand_over(map, made));
        if shared.is_err() {
            self.kept.discarded(map);
        }
        Ok((Reply::Done, Some(shared?)))
    }

    /// Pins a finished map, so that judges can be loaded on it, and returns another descriptor.
    pub(super) fn hand_over(&mut self, map: MapUse, made: MapData) -> Result<OwnedFd, KernelError> {
        self.mend_directories()?;
        storage::pin(&made, &self.pins.table(map))?;
        let shared = mend::share(&made)?;
        self.tables.push((map, made));
        Ok(shared)
    }

    /// Makes packets meet the judge that is ready.
    pub(super) fn publish(&mut self) -> Result<(), KernelError> {
        let Some(mut judge) = self.ready.take() else { return Ok(()) };
        // Something may have been attached elsewhere since the judge was loaded.
        let (hooks, ring) = (self.hooks(judge.blueprint()), self.ring_for_judge(&judge)?);
        judge.complete(&hooks, &self.pins, ring)?;
        if judge.matches_new() {
            // `look` reports errors of this.
            let links = self.links.look(&self.pins);
            self.egress.mend(&links, &self.pins);
        }
        self.roots.meet(&judge)?;
        self.replace_roots()?;
        self.roots.settle()?;
        self.end_unwanted_egress(&judge)?;
        if !judge.samples() {
            self.ring = None;
        }
        self.kept.published(judge.maps());
        self.forget_tables();
        let keep: Vec<_> = self.kept.maps().into_iter().map(|kept| self.pins.table(kept)).collect();
        if let Err(error) = self.pins.keep_tables(&keep) {
            tracing::warn!("cannot remove the pins of unused tables: {error}");
        }
        self.published = Some(judge);
        // Any other judge loaded in advance is obsolete.
        self.foreseen = None;
        self.mend_outbound()?;
        self.renew_connect()
    }

    /// Discards a map, together with a loaded judge that would keep its memory.
    pub(super) fn discard(&mut self, map: MapUse) -> Result<(), KernelError> {
        if self.making.has(map) {
            return Err(KernelError::refused("forget a table", "it is being made"));
        }
        if !self.kept.discarded(map) {
            return Ok(());
        }
        self.forget_tables();
        self.ready.take_if(|judge| judge.maps().contains(&map));
        self.foreseen.take_if(|foreseen| foreseen.uses(map));
        self.pins.forget_table(map).map_err(|error| KernelError::load("remove the pin of a table", error))
    }
}
