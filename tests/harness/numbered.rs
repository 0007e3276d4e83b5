//! Targets that each count for a list: a truth told without cleverness, for whoever drives a filter by himself.

use std::collections::BTreeMap;

use filter_common::labels::{Counters, Label, OTHER};
use filter_common::packet::Source;
use filter_common::ports::Clause;
use filter_common::sets::{SLOTS, SetName};
use filter_common::target::{Prefix, Prefix4, Prefix6, Target};
use filterd::blocklist::{Effects, Targets};
use filterd::kernel::{Filter, KernelError, LabelSource, Needs, SetNeeds, SixTargets, Truth, WantedTargets};

/// Everything that is blocked, on all ports, with its label. Nothing is allowed.
#[derive(Clone, Debug, Default)]
pub struct Numbered {
    block: Side,
    nothing: Side,
}

#[derive(Clone, Debug, Default)]
struct Side(BTreeMap<Target, Label>);

impl Numbered {
    /// Blocks these, or counts those that are blocked already for another list.
    pub fn block(&mut self, filter: &mut Filter, more: &[(Target, Label)]) -> Result<(), KernelError> {
        let (mut effects, before) = (Effects::default(), self.clone());
        let block = &mut effects.sets.block;
        for (target, label) in more {
            match self.block.0.insert(*target, *label) {
                None => block.entered.push(*target),
                Some(was) if was != *label => block.relabelled.push(*target),
                Some(_) => {}
            }
        }
        block.entered.sort();
        block.relabelled.sort();
        filter.reserve(&self.needs(), &before)?;
        filter.apply(&effects, self)
    }

    /// Blocks these no longer.
    pub fn release(&mut self, filter: &mut Filter, fewer: &[Target]) -> Result<(), KernelError> {
        let left: Targets =
            fewer.iter().copied().filter(|target| self.block.0.remove(target).is_some()).collect();
        filter.apply(&Effects::unblocking(left), self)
    }

    /// What there must be room for.
    pub fn needs(&self) -> Needs {
        let mut block = SetNeeds::default();
        for target in self.block.0.keys() {
            match target {
                Target::V4(prefix) if prefix.length() <= 24 => block.networks = true,
                Target::V4(prefix) => block.addresses += 1 << (32 - prefix.length()),
                Target::V6(prefix) => {
                    block.levels = true;
                    block.ways.add(*prefix);
                    if prefix.length() > 32 {
                        block.six += 1;
                        block.lengths.insert(prefix.length());
                    }
                }
            }
        }
        Needs { counters: Counters::Lists, ..Needs::from(block) }
    }

    /// The label of a packet from this source, if it is blocked. Networks are asked before addresses.
    pub fn label(&self, source: Source) -> Option<Label> {
        match source {
            Source::V4(address) => {
                let host = Prefix::host(address);
                let network = self.block.narrowest4(|prefix| prefix.length() <= 24 && prefix.covers(&host));
                network.or_else(|| self.block.narrowest4(|prefix| prefix.covers(&host)))
            }
            Source::V6(address) => {
                let host = u128::from(address.high) << 64 | u128::from(address.low);
                self.block.first_asked6(Prefix::host(host))
            }
            Source::NotIp | Source::Malformed | Source::TooManyTags => None,
        }
    }

    /// All that is blocked.
    pub fn targets(&self) -> impl Iterator<Item = (Target, Label)> {
        self.block.0.iter().map(|(target, label)| (*target, *label))
    }
}

impl Truth for Numbered {
    fn of(&self, set: SetName) -> &impl WantedTargets {
        match set {
            SetName::Block => &self.block,
            SetName::Allow | SetName::Clause(_) | SetName::Out => &self.nothing,
        }
    }

    fn clauses(&self) -> &[Option<Clause>; SLOTS] {
        &[None; SLOTS]
    }
}

impl Side {
    fn all4(&self) -> impl Iterator<Item = (Prefix4, Label)> {
        self.0.iter().filter_map(|(target, label)| match target {
            Target::V4(prefix) => Some((*prefix, *label)),
            Target::V6(_) => None,
        })
    }

    fn all6(&self) -> impl Iterator<Item = (Prefix6, Label)> {
        self.0.iter().filter_map(|(target, label)| match target {
            Target::V4(_) => None,
            Target::V6(prefix) => Some((*prefix, *label)),
        })
    }

    fn narrowest4(&self, holds: impl Fn(Prefix4) -> bool) -> Option<Label> {
        let those = self.all4().filter(|(prefix, _)| holds(*prefix));
        those.max_by_key(|(prefix, _)| prefix.length()).map(|(_, label)| label)
    }

    /// As a lookup goes: what is told from the top, then the /64, then shorter prefixes from the longest on, then longer ones
    /// from the shortest on.
    fn first_asked6(&self, host: Prefix6) -> Option<Label> {
        let order = |length: u8| match length {
            0..=14 => (0, 14 - length),
            15..=24 => (1, 24 - length),
            25..=32 => (2, 32 - length),
            64 => (3, 0),
            33..64 => (4, 64 - length),
            65.. => (5, length),
        };
        let those = self.all6().filter(|(prefix, _)| prefix.covers(&host));
        those.min_by_key(|(prefix, _)| order(prefix.length())).map(|(_, label)| label)
    }

    fn narrowest6(&self, within: Prefix6) -> Option<Label> {
        let those = self.all6().filter(|(prefix, _)| prefix.covers(&within));
        those.max_by_key(|(prefix, _)| prefix.length()).map(|(_, label)| label)
    }
}

impl LabelSource for Side {
    fn label_of_address(&self, address: u32) -> Label {
        let host = Prefix::host(address);
        self.narrowest4(|prefix| prefix.length() > 24 && prefix.covers(&host)).unwrap_or(OTHER)
    }

    fn label_of_network(&self, network: Prefix4) -> Label {
        self.narrowest4(|prefix| prefix.length() <= 24 && prefix.covers(&network)).unwrap_or(OTHER)
    }

    fn label_of_six(&self, prefix: Prefix6) -> Label {
        self.narrowest6(prefix).unwrap_or(OTHER)
    }
}

impl SixTargets for Side {
    fn six_after(&self, after: Option<Prefix6>) -> impl Iterator<Item = Prefix6> {
        let all = self.all6().map(|(prefix, _)| prefix);
        all.filter(move |prefix| after.is_none_or(|after| *prefix > after))
    }
}

impl WantedTargets for Side {
    fn has_address(&self, address: u32) -> bool {
        let host = Prefix::host(address);
        self.narrowest4(|prefix| prefix.length() > 24 && prefix.covers(&host)).is_some()
    }

    fn has_long_prefixes(&self) -> bool {
        self.all4().any(|(prefix, _)| (25..32).contains(&prefix.length()))
    }

    fn is_within_wider(&self, network: Prefix4) -> bool {
        self.all4().any(|(prefix, _)| prefix.length() < network.length() && prefix.covers(&network))
    }

    fn networks_within(&self, network: Prefix4) -> impl Iterator<Item = Prefix4> {
        let all = self.all4().map(|(prefix, _)| prefix);
        all.filter(move |prefix| prefix.length() <= 24 && network.covers(prefix))
    }

    fn covers_six(&self, within: Prefix6, shortest: u8) -> bool {
        self.all6().any(|(prefix, _)| prefix.length() >= shortest && prefix.covers(&within))
    }

    fn has_six_within(&self, around: Prefix6) -> bool {
        self.all6().any(|(prefix, _)| prefix.length() > around.length() && around.covers(&prefix))
    }

    fn wants_six(&self, prefix: Prefix6) -> bool {
        self.0.contains_key(&Target::V6(prefix))
    }
}
