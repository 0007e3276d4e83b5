//! The label under which packets from a target are counted.

use filter_common::labels::{Label, OTHER};
use filter_common::target::{Prefix, Prefix4, Prefix6, Target};

use super::Side;
use super::claims::ClaimsId;
use super::targets::of_net64;

/// Prefixes up to this length are looked up as prefixes, longer ones as addresses.
const LONGEST_NETWORK: u8 = 24;

impl Side {
    /// The label of the first list that wants exactly this target.
    pub fn label_of(&self, target: Target) -> Label {
        self.known_label(target).unwrap_or(OTHER)
    }

    /// The label of an address: that of its own entry, or of the longest covering prefix longer than /24.
    pub fn label_of_address(&self, address: u32) -> Label {
        let own =
            self.addresses.get(address).map(|id| self.label_of_set(Target::V4(Prefix::host(address)), id));
        own.unwrap_or_else(|| {
            let lengths = self.cover.v4().rev().map(|(length, _)| length);
            let long = lengths.take_while(|length| *length > LONGEST_NETWORK);
            let mut prefixes = long.map(|length| Target::V4(Prefix::covering(address, length)));
            prefixes.find_map(|prefix| self.known_label(prefix)).unwrap_or(OTHER)
        })
    }

    /// The label of an IPv4 prefix up to /24: that of the longest entry up to /24 that covers it, itself
    /// included.
    pub fn label_of_network(&self, prefix: Prefix4) -> Label {
        let longest = prefix.length().min(LONGEST_NETWORK);
        let lengths = self.cover.v4().rev().map(|(length, _)| length).filter(|length| *length <= longest);
        let mut covering = lengths.map(|length| Target::V4(Prefix::covering(prefix.address(), length)));
        covering.find_map(|prefix| self.known_label(prefix)).unwrap_or(OTHER)
    }

    /// The label of an IPv6 prefix: that of the longest entry that covers it, itself included.
    pub fn label_of_six(&self, prefix: Prefix6) -> Label {
        let lengths = self.cover.v6().rev().map(|(length, _)| length);
        let lengths = lengths.filter(|length| *length <= prefix.length());
        let mut covering = lengths.map(|length| Target::V6(Prefix::covering(prefix.address(), length)));
        covering.find_map(|prefix| self.known_label(prefix)).unwrap_or(OTHER)
    }

    /// The labels of these /64s. Sorted ones are found one after the other, without a search for each.
    pub fn labels_of_nets64(&self, nets: &[u64]) -> Vec<Label> {
        let mut behind = self.nets64.range(u64::MAX..);
        let mut label = |net: u64| {
            let is_next = |next: &(u64, ClaimsId)| next.0 == net;
            let found = behind.next().filter(is_next).or_else(|| {
                behind = self.nets64.range(net..);
                behind.next().filter(is_next)
            });
            match found {
                Some((net, id)) => self.label_of_set(of_net64(net), id),
                None => self.label_of_six(Prefix::covering(u128::from(net) << 64, 64)),
            }
        };
        nets.iter().map(|net| label(*net)).collect()
    }

    fn known_label(&self, target: Target) -> Option<Label> {
        self.claims_of(target).map(|id| self.label_of_set(target, id))
    }

    pub(super) fn label_of_set(&self, target: Target, id: ClaimsId) -> Label {
        self.labels.of(target, self.registry.claims(id))
    }
}
