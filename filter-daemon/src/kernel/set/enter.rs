//! Adds entries to their tables: to the one that packets read, or to a fresh one that packets do not see yet.

use filter_common::cuckoo::six::Key6;
use filter_common::levels::LONGEST_TOLD;
use filter_common::target::{Prefix6, Target};

use super::{SourceSet, one_of_each_32};
use crate::blocklist::SetEffects;
use crate::kernel::KernelError;
use crate::kernel::kind::{AddressTable, SixTable};
use crate::kernel::levels::PrefixesForTable;
use crate::kernel::maps::Maps;
use crate::kernel::needs::WantedTargets;
use crate::kernel::networks::is_network;

impl SourceSet {
    /// Plans copies of all tables that these effects change, so that packets see all changes at once.
    pub fn refresh(
        &mut self,
        effects: &SetEffects,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        let reaches = |what: fn(Target) -> bool| effects.entered.iter().chain(effects.left.iter()).any(what);
        if reaches(|target| matches!(target, Target::V4(prefix) if !is_network(prefix))) {
            self.addresses.refresh(maps, wanted)?;
        }
        if reaches(|target| matches!(target, Target::V4(prefix) if is_network(prefix))) {
            self.networks.refresh(maps, wanted)?;
        }
        if reaches(|target| matches!(target, Target::V6(_))) {
            self.levels.refresh(maps, wanted)?;
            // The table takes the prefixes that the levels do not hold, so the levels must be prepared for
            // the new ones first.
            short6(effects).for_each(|prefix| _ = self.levels.make_way(prefix));
            self.six.refresh(maps, &PrefixesForTable { levels: &self.levels, wanted })?;
        }
        Ok(())
    }

    /// Adds every target of the effects. `wanted` holds the targets wanted of the set afterwards.
    pub fn enter(
        &mut self,
        effects: &SetEffects,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        let entered = &effects.entered;
        self.enter_addresses(&entered.addresses, maps, wanted)?;
        // Short prefixes come first, so that they get the little room that the levels may have. The prefixes
        // that the levels hold must also be known before a table is rebuilt from the remaining ones.
        let is_short =
            |target: &&Target| matches!(target, Target::V6(prefix) if prefix.length() <= LONGEST_TOLD);
        entered
            .others
            .iter()
            .filter(is_short)
            .try_for_each(|target| self.enter_one(*target, maps, wanted))?;
        self.enter_nets64(&entered.nets64, maps, wanted)?;
        let others = entered.others.iter().filter(|target| !is_short(target));
        others.into_iter().try_for_each(|target| self.enter_one(*target, maps, wanted))
    }

    fn enter_one(
        &mut self,
        target: Target,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        match target {
            Target::V4(prefix) if is_network(prefix) => {
                self.networks.make_room(maps)?;
                self.networks.enter(prefix, maps, wanted)
            }
            Target::V4(prefix) => {
                let mut addresses = prefix.first()..=prefix.last();
                addresses.try_for_each(|address| self.enter_address(address, maps, wanted))
            }
            Target::V6(prefix) => {
                self.levels.make_any(maps, wanted)?;
                self.levels.make_pages(maps, wanted)?;
                self.enter_six(prefix, maps, wanted)
            }
        }
    }

    fn enter_addresses(
        &mut self,
        addresses: &[u32],
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        // An empty fresh table contains no duplicates.
        if self.addresses.store.is_fresh_and_empty() {
            let entry_in = |table: &AddressTable, at: usize| table.entry(addresses[at], wanted);
            let refused = self.addresses.store.fill_all(entry_in, 0..addresses.len());
            return refused
                .into_iter()
                .try_for_each(|(address, _)| self.enter_address(address as u32, maps, wanted));
        }
        self.addresses.enter_all(
            |table, at| table.entry(addresses[at], wanted),
            addresses.len(),
            maps,
            wanted,
        )
    }

    fn enter_nets64(
        &mut self,
        nets: &[u64],
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        if nets.is_empty() {
            return Ok(());
        }
        self.levels.make_any(maps, wanted)?;
        one_of_each_32(nets).for_each(|prefix| _ = self.levels.make_way(prefix));
        self.lengths.insert(64);
        let beyond = PrefixesForTable { levels: &self.levels, wanted };
        let labels = wanted.labels_of_nets64(nets);
        let entry_in = |_: &SixTable, at: usize| (Key6::Net64(nets[at]), labels[at]);
        if self.six.store.is_fresh_and_empty() {
            let refused = self.six.store.fill_all(entry_in, 0..nets.len());
            refused.into_iter().try_for_each(|entry| self.six.enter(|_| entry, maps, &beyond))?;
        } else {
            self.six.enter_all(entry_in, nets.len(), maps, &beyond)?;
        }
        one_of_each_32(nets).for_each(|prefix| self.levels.show(prefix, wanted));
        Ok(())
    }

    fn enter_address(
        &mut self,
        address: u32,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        self.addresses.enter(|table| table.entry(address, wanted), maps, wanted)
    }

    fn enter_six(
        &mut self,
        prefix: Prefix6,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        if !self.levels.make_way(prefix) {
            self.lengths.insert(prefix.length());
            let wanted = PrefixesForTable { levels: &self.levels, wanted };
            self.six.enter(|table| table.entry(prefix, wanted.wanted), maps, &wanted)?;
        }
        self.levels.show(prefix, wanted);
        Ok(())
    }
}

/// The added IPv6 prefixes that the levels can hold if they have room.
fn short6(effects: &SetEffects) -> impl Iterator<Item = Prefix6> + '_ {
    effects.entered.others.iter().filter_map(|target| match target {
        Target::V6(prefix) if is_short6(*target) => Some(*prefix),
        Target::V4(_) | Target::V6(_) => None,
    })
}

fn is_short6(target: Target) -> bool {
    matches!(target, Target::V6(prefix) if prefix.length() <= LONGEST_TOLD)
}
