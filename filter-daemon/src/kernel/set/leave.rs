//! Removes entries from their tables. Nothing can refuse a removal.

use filter_common::cuckoo::six::Key6;
use filter_common::target::Target;

use super::{AT_ONCE, SourceSet, one_of_each_32};
use crate::blocklist::SetEffects;
use crate::kernel::needs::WantedTargets;
use crate::kernel::networks::is_network;

impl SourceSet {
    /// Removes every target that leaves. `wanted` holds the targets wanted of the set afterwards.
    pub fn leave(&mut self, effects: &SetEffects, wanted: &impl WantedTargets) {
        // A lookup for each address would take longer than all the rest.
        let may_be_wanted = wanted.has_long_prefixes() || !effects.entered.is_empty();
        let left = &effects.left;
        for addresses in left.addresses.chunks(AT_ONCE) {
            self.addresses.store.prefetch(|_, at| u64::from(addresses[at]), addresses.len());
            for address in addresses {
                if may_be_wanted && wanted.has_address(*address) {
                    self.relabel_address(*address, wanted);
                } else {
                    self.addresses.leave(|_| u64::from(*address));
                }
            }
        }
        one_of_each_32(&left.nets64).for_each(|prefix| self.levels.hide(prefix, wanted));
        for nets in left.nets64.chunks(AT_ONCE) {
            self.six.store.prefetch(|_, at| Key6::Net64(nets[at]), nets.len());
            nets.iter().for_each(|net| self.six.leave(|_| Key6::Net64(*net)));
        }
        left.others.iter().for_each(|target| self.leave_one(*target, wanted));
    }

    /// Removes the additions of a failed change. Targets of `wanted`, the state before the change, stay.
    pub fn withdraw(&mut self, effects: &SetEffects, wanted: &impl WantedTargets) {
        let entered = effects.entered.iter();
        let unwanted = entered.filter(|target| match target {
            Target::V4(_) => true,
            Target::V6(prefix) => !wanted.wants_six(*prefix),
        });
        unwanted.for_each(|target| self.leave_one(target, wanted));
    }

    /// Removes targets from fresh tables, which packets do not see yet.
    pub fn leave_fresh(&mut self, effects: &SetEffects, wanted: &impl WantedTargets) {
        for target in effects.left.iter() {
            match target {
                Target::V4(prefix) if is_network(prefix) => self.networks.leave_fresh(prefix, wanted),
                Target::V4(prefix) => {
                    for address in prefix.first()..=prefix.last() {
                        if wanted.has_address(address) {
                            self.relabel_address(address, wanted);
                        } else {
                            self.addresses.store.leave_fresh(|_| address.into());
                        }
                    }
                }
                Target::V6(prefix) => {
                    self.levels.hide_fresh(prefix, wanted);
                    self.six.store.leave_fresh(|table| table.key(prefix));
                }
            }
        }
    }

    fn leave_one(&mut self, target: Target, wanted: &impl WantedTargets) {
        match target {
            Target::V4(prefix) if is_network(prefix) => self.networks.leave(prefix, wanted),
            Target::V4(prefix) => {
                for address in prefix.first()..=prefix.last() {
                    if wanted.has_address(address) {
                        self.relabel_address(address, wanted);
                    } else {
                        self.addresses.leave(|_| address.into());
                    }
                }
            }
            Target::V6(prefix) => {
                self.levels.hide(prefix, wanted);
                self.six.leave(|table| table.key(prefix));
            }
        }
    }
}
