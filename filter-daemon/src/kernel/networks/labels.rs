//! Keeps the labels of IPv4 /24s.

use filter_common::labels::Label;
use filter_common::networks::bits_of;
use filter_common::target::{Prefix, Prefix4};

use crate::kernel::needs::WantedTargets;
use crate::kernel::pages::{LabelPages, Listed, Page};

impl LabelPages {
    /// Copies the labels of all /16s into `other`, which must be empty and have at least as many pages.
    pub fn copy_slash16s_to(&self, other: &mut Self, listed: impl Fn(u32) -> u64) {
        for slash16 in 0..1 << 16 {
            let listed = listed_in(slash16, &listed);
            if listed != [0; 4] {
                other.store(slash16, &self.labels(slash16), listed);
            }
        }
    }

    /// Asks `wanted` for the labels of everything listed within this prefix. `listed` returns the bits of 64
    /// /24s.
    pub fn ask4(&mut self, prefix: Prefix4, listed: impl Fn(u32) -> u64, wanted: &impl WantedTargets) {
        for slash16 in slash16s(prefix) {
            let listed = listed_in(slash16, &listed);
            if listed == [0; 4] {
                continue;
            }
            let part = if prefix.length() > 16 { prefix } else { Prefix::covering(slash16 << 16, 16) };
            let mut labels = self.labels(slash16);
            fill(&mut labels, part, wanted.label_of_network(part));
            let narrower = wanted.networks_within(part).filter(|network| *network != part);
            narrower.for_each(|network| fill(&mut labels, network, wanted.label_of_network(network)));
            self.store(slash16, &labels, listed);
        }
    }

    /// Frees pages that are no longer needed after something within this prefix was removed.
    pub fn tidy4(&mut self, prefix: Prefix4, listed: impl Fn(u32) -> u64) {
        for slash16 in slash16s(prefix) {
            if self.has_page(slash16) {
                self.store(slash16, &self.labels(slash16), listed_in(slash16, &listed));
            }
        }
    }
}

/// The most pages that may be needed when this prefix is added or relabelled.
pub fn pages_for(prefix: Prefix4, wanted: &impl WantedTargets) -> usize {
    let most = 1 << 16_u8.saturating_sub(prefix.length());
    1 + wanted.networks_within(prefix).filter(|network| network.length() > 16).take(most).count()
}

/// Adds the bits that this prefix is about to set to those of `listed`.
pub fn with(prefix: Prefix4, listed: impl Fn(u32) -> u64) -> impl Fn(u32) -> u64 {
    let (first, last) = (prefix.first() >> 8, prefix.last() >> 8);
    move |word| {
        let is_within = (first / 64..=last / 64).contains(&word);
        listed(word) | if is_within { bits_of(first, last, word) } else { 0 }
    }
}

fn slash16s(prefix: Prefix4) -> impl Iterator<Item = u32> {
    prefix.first() >> 16..=prefix.last() >> 16
}

fn listed_in(slash16: u32, listed: impl Fn(u32) -> u64) -> Listed {
    std::array::from_fn(|word| listed(slash16 * 4 + word as u32))
}

/// Sets the label of the /24s of this prefix, which must lie within one /16.
fn fill(labels: &mut Page, prefix: Prefix4, label: Label) {
    let number = |address: u32| (address >> 8 & 0xFF) as usize;
    labels[number(prefix.first())..=number(prefix.last())].fill(label);
}
