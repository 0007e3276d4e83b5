//! Carrying effects out: whoever enters comes into its table, whoever leaves goes out of it.

use filter_common::cuckoo::six::Key6;
use filter_common::networks;
use filter_common::target::{Prefix4, Target};

use super::Filter;
use crate::blocklist::Effects;
use crate::kernel::KernelError;
use crate::kernel::needs::Wanted;
use crate::kernel::spec::SixTable;

/// Pending entries whose homes are fetched together: as many as a processor can wait for at a time, and some more.
const AT_ONCE: usize = 32;

impl Filter {
    /// Carries effects out; packets are judged by them when this returns. `wanted` is what is blocked from then on.
    /// Whoever enters is in before anybody leaves: an address may be covered by one target first and by another then.
    pub fn apply(&mut self, effects: &Effects, wanted: &impl Wanted) -> Result<(), KernelError> {
        let may_be_there = wanted.has_long_prefixes();
        let entered = &effects.block.entered;
        self.enter_addresses(&entered.addresses, may_be_there)?;
        for nets in entered.nets64.chunks(AT_ONCE) {
            self.six.prefetch(nets.iter().map(|net| Key6::Net64(*net)));
            nets.iter().try_for_each(|net| self.enter_six(|_| Key6::Net64(*net), wanted))?;
        }
        entered.others.iter().try_for_each(|target| self.enter(*target, may_be_there, wanted))?;
        self.publish()?;
        self.let_go(effects, wanted);
        Ok(())
    }

    fn let_go(&mut self, effects: &Effects, wanted: &impl Wanted) {
        let left = &effects.block.left;
        // Asking for each takes longer than all the rest.
        let may_be_wanted = wanted.has_long_prefixes() || !effects.block.entered.is_empty();
        for addresses in left.addresses.chunks(AT_ONCE) {
            self.addresses.prefetch(addresses.iter().map(|address| u64::from(*address)));
            let unwanted =
                addresses.iter().filter(|address| !(may_be_wanted && wanted.blocks_address(**address)));
            unwanted.for_each(|address| self.leave_address(*address));
        }
        for nets in left.nets64.chunks(AT_ONCE) {
            self.six.prefetch(nets.iter().map(|net| Key6::Net64(*net)));
            nets.iter().for_each(|net| _ = self.six.remove(Key6::Net64(*net)));
        }
        left.others.iter().for_each(|target| self.leave(*target, wanted));
    }

    fn enter(&mut self, target: Target, may_be_there: bool, wanted: &impl Wanted) -> Result<(), KernelError> {
        match target {
            Target::V4(prefix) if is_network(prefix) => self.set_network(prefix, |_| true),
            Target::V4(prefix) => {
                let mut addresses = prefix.first()..=prefix.last();
                return addresses.try_for_each(|address| self.enter_address(address, may_be_there));
            }
            Target::V6(prefix) => return self.enter_six(|table| table.key(prefix), wanted),
        }
        Ok(())
    }

    fn leave(&mut self, target: Target, wanted: &impl Wanted) {
        match target {
            Target::V4(prefix) if is_network(prefix) => self.leave_network(prefix, wanted),
            Target::V4(prefix) => {
                let unwanted =
                    (prefix.first()..=prefix.last()).filter(|&address| !wanted.blocks_address(address));
                unwanted.for_each(|address| self.leave_address(address));
            }
            Target::V6(prefix) => {
                if let Some(key) = self.six.kind().map(|table| table.key(prefix)) {
                    self.six.remove(key);
                }
            }
        }
    }

    fn enter_addresses(&mut self, addresses: &[u32], may_be_there: bool) -> Result<(), KernelError> {
        let is_alone = self.addresses.has_fresh() && self.growth.is_none() && !may_be_there;
        if is_alone {
            let refused = self.addresses.fill_all(addresses.iter().map(|address| u64::from(*address)));
            return refused.into_iter().try_for_each(|address| self.enter_address(address as u32, false));
        }
        for addresses in addresses.chunks(AT_ONCE) {
            self.addresses.prefetch(addresses.iter().map(|address| u64::from(*address)));
            addresses.iter().try_for_each(|address| self.enter_address(*address, may_be_there))?;
        }
        Ok(())
    }

    /// Where there is neither a path nor room in the stash, the table is built anew, under another key.
    fn enter_address(&mut self, address: u32, may_be_there: bool) -> Result<(), KernelError> {
        if may_be_there && self.addresses.contains(address.into()) {
            return Ok(());
        }
        while self.addresses.add(address.into()).is_err() {
            if self.growth.is_some() {
                self.end_growth()?;
            } else {
                self.rebuild_addresses(self.addresses.one_more())?;
            }
        }
        if let Some((_, growth)) = &mut self.growth {
            growth.added(address.into());
        }
        Ok(())
    }

    fn enter_six(
        &mut self,
        key_in: impl Fn(&SixTable) -> Key6,
        wanted: &impl Wanted,
    ) -> Result<(), KernelError> {
        loop {
            let key = self.six.kind().map(&key_in);
            if key.is_some_and(|key| self.six.contains(key) || self.six.add(key).is_ok()) {
                return Ok(());
            }
            self.rebuild_six(self.six.one_more(), wanted)?;
        }
    }

    fn leave_address(&mut self, address: u32) {
        let is_there = self.addresses.remove(address.into());
        if let Some((_, growth)) = self.growth.as_mut().filter(|_| is_there) {
            growth.removed(address.into());
        }
    }

    fn leave_network(&mut self, prefix: Prefix4, wanted: &impl Wanted) {
        if wanted.is_within_wider(prefix) {
            return;
        }
        let first = prefix.first() >> 8;
        let mut stays = vec![false; slash24s(prefix) as usize];
        for within in wanted.networks_within(prefix) {
            let at = ((within.first() >> 8) - first) as usize;
            stays[at..at + slash24s(within) as usize].fill(true);
        }
        self.set_network(prefix, |slash24| stays[(slash24 - first) as usize]);
    }

    fn set_network(&self, prefix: Prefix4, wanted: impl Fn(u32) -> bool) {
        if let Some((_, window)) = &self.networks {
            networks::set(window, prefix.first() >> 8, slash24s(prefix), wanted);
        }
    }
}

/// Is it kept as bits, one a /24?
fn is_network(prefix: Prefix4) -> bool {
    prefix.length() <= 24
}

fn slash24s(prefix: Prefix4) -> u32 {
    1 << (24 - prefix.length())
}
