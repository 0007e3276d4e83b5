//! Changes the list that a blocked target counts for. Nothing can refuse that.

use filter_common::levels::LONGEST_TOLD;
use filter_common::target::Target;

use super::SourceSet;
use crate::blocklist::SetEffects;
use crate::kernel::maps::Maps;
use crate::kernel::needs::WantedTargets;
use crate::kernel::networks::is_network;

impl SourceSet {
    /// Asks `wanted` for the labels of these targets again. Labels of prefixes may need room.
    pub fn relabel(&mut self, effects: &SetEffects, maps: &mut Maps, wanted: &impl WantedTargets) {
        for target in effects.relabelled.iter() {
            self.make_label_room(target, maps, wanted);
            self.relabel_one(target, wanted);
        }
    }

    /// Does the same in the current maps, without making room.
    pub fn relabel_in_place(&mut self, effects: &SetEffects, wanted: &impl WantedTargets) {
        effects.relabelled.iter().for_each(|target| self.relabel_one(target, wanted));
    }

    fn relabel_one(&mut self, target: Target, wanted: &impl WantedTargets) {
        match target {
            Target::V4(prefix) if is_network(prefix) => self.networks.relabel(prefix, wanted),
            Target::V4(prefix) => {
                (prefix.first()..=prefix.last()).for_each(|address| self.relabel_address(address, wanted));
            }
            Target::V6(prefix) => {
                self.levels.relabel(prefix, wanted);
                self.six.relabel(|table| table.entry(prefix, wanted));
            }
        }
    }

    /// If memory is short, the targets are relabelled anyway, some of them as `other`.
    fn make_label_room(&mut self, target: Target, maps: &mut Maps, wanted: &impl WantedTargets) {
        let made = match target {
            Target::V4(prefix) if is_network(prefix) => self.networks.make_pages(prefix, maps, wanted),
            Target::V6(prefix) if prefix.length() <= LONGEST_TOLD => self.levels.make_pages(maps, wanted),
            Target::V4(_) | Target::V6(_) => return,
        };
        if let Err(error) = made {
            tracing::warn!("packets from some prefixes may be counted as `other`: {error}");
        }
    }

    pub(super) fn relabel_address(&mut self, address: u32, wanted: &impl WantedTargets) {
        self.addresses.relabel(|table| table.entry(address, wanted));
    }
}
