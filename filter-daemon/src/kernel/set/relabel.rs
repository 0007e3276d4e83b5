//! Whoever stays blocked, and is to be counted for another list. Nothing can refuse that.

use filter_common::target::Target;

use super::Set;
use crate::blocklist::SetEffects;
use crate::kernel::needs::Wanted;
use crate::kernel::networks::is_network;

impl Set {
    /// Asks `wanted` anew for which lists these count.
    pub fn relabel(&mut self, effects: &SetEffects, wanted: &impl Wanted) {
        effects.relabelled.iter().for_each(|target| self.relabel_one(target, wanted));
    }

    fn relabel_one(&mut self, target: Target, wanted: &impl Wanted) {
        match target {
            Target::V4(prefix) if is_network(prefix) => {}
            Target::V4(prefix) => {
                (prefix.first()..=prefix.last()).for_each(|address| self.relabel_address(address, wanted));
            }
            Target::V6(prefix) => self.six.relabel(|table| table.entry(prefix, wanted)),
        }
    }

    pub(super) fn relabel_address(&mut self, address: u32, wanted: &impl Wanted) {
        self.addresses.relabel(|table| table.entry(address, wanted));
    }
}
