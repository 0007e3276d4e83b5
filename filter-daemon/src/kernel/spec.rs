//! Describes a judge: its lookups, the geometry of its tables, and their keys. The broker builds the judge
//! from it.

use std::collections::BTreeSet;

use filter_common::labels::Counters;
use filter_common::levels::size;
use filter_common::ports::Clause;
use filter_common::sets::{PerSet, SLOTS, SetName};
use filter_common::settings::{self as words, AddressSettings, PortSettings, SetSettings, SixSettings};

use super::broker::request::{Blueprint, MapName, MapPart, MapUse};
use super::kind::{AddressTable, Kind as _, SixTable};
use super::levels::LevelsMap;
use super::lists::ListsMap;
use super::networks::NetworksMap;
use crate::blocklist::Settings;
use crate::clock;

#[cfg(test)]
mod tests;

/// The most maps that the kernel lets one program use (`MAX_USED_MAPS`).
const MOST_MAPS: usize = 64;

/// The maps that belong to no set: settings, counters, list counters, own flows, samples and the overlap
/// word.
const OTHER_MAPS: usize = 6;

/// The most tables of one set.
const SET_TABLES: usize = 4;

// Destinations are read by a judge of its own, which has no clauses.
const _: () = assert!(
    (SetName::COUNT - 1) * SET_TABLES + OTHER_MAPS <= MOST_MAPS,
    "a judge reaches more maps than a kernel lets one program reach"
);

/// Everything that the words of a judge's settings contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeSpec {
    /// The settings that apply to all packets.
    pub settings: Settings,
    pub sets: PerSet<SetSpec>,
    /// The clause of each clause set that has one.
    pub clauses: [Option<Clause>; SLOTS],
    /// The generation of the overlap word's map, if anything is allowed.
    pub overlap: Option<u64>,
    /// The list counters, if there are any. The settings say whether packets are counted by list.
    pub lists: Option<ListsMap>,
    /// Drops sampled in a time window by each processor (`samples`); 0 for none.
    pub samples: u64,
}

/// The settings that a judge needs for one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetSpec {
    /// The map of IPv4 prefixes, if there is one.
    pub networks: Option<NetworksMap>,
    /// The table of IPv4 addresses, if there is one.
    pub addresses: Option<AddressTable>,
    /// The map of IPv6 levels, if there is one.
    pub levels: Option<LevelsMap>,
    /// The table of IPv6 prefixes that the levels do not hold, if there is one.
    pub six: Option<SixTable>,
    /// The prefix lengths that the judge looks up in that table.
    pub lengths: BTreeSet<u8>,
}

impl JudgeSpec {
    /// Describes the judge for the broker: its settings and its maps.
    pub fn blueprint(&self) -> Blueprint {
        let overlap = MapName { set: SetName::Allow, part: MapPart::Overlap };
        let mut maps: Vec<_> = self.sets.iter().flat_map(|(name, set)| set.maps(name)).collect();
        if let Some(lists) = self.lists {
            let map = MapName { set: SetName::Block, part: MapPart::Lists };
            maps.push(MapUse { map, generation: lists.generation });
        }
        let counted = self.sets.iter().filter(|(name, _)| self.counts_by_list(*name));
        maps.extend(counted.flat_map(|(name, set)| set.label_maps(name)));
        maps.extend(self.overlap.map(|generation| MapUse { map: overlap, generation }));
        let has_ports = self.clauses.iter().any(Option::is_some);
        Blueprint {
            has_ports,
            outbound_errors: self.settings.outbound_errors,
            settings: self.words().as_words().to_vec(),
            maps,
        }
    }

    /// Whether packets that match this set are counted by list. If the kernel's limit of maps is reached,
    /// packets of the last clauses count for `other`. This can happen while one configuration replaces
    /// another.
    fn counts_by_list(&self, name: SetName) -> bool {
        if name == SetName::Out {
            return true;
        }
        let received = || self.sets.iter().filter(|(name, _)| *name != SetName::Out);
        let tables: usize = received().map(|(name, set)| set.maps(name).len()).sum();
        let up_to_it = received().filter(|(other, _)| other.number() <= name.number());
        let labels: usize = up_to_it.map(|(other, set)| set.label_maps(other).len()).sum();
        tables + labels + OTHER_MAPS <= MOST_MAPS
    }

    /// The settings that are written into the program.
    pub fn words(&self) -> words::Settings {
        words::Settings {
            enforce: self.settings.enforcement() as u64,
            paused_until: self.settings.paused.map_or(0, clock::in_the_kernel),
            overlap: self.overlap.is_some().into(),
            match_new: self.settings.match_new.into(),
            lists: (self.lists.is_some() && self.settings.counters == Counters::Lists).into(),
            // The broker replaces this word when it loads the judge (`counters::known_to`).
            last_processor: self.lists.map_or(0, |lists| lists.processors - 1).into(),
            samples: self.samples,
            sets: PerSet::from_fn(|name| self.sets[name].words(self.counts_by_list(name))),
            ports: self.clauses.map(|clause| clause.map_or(PortSettings::OFF, |it| PortSettings::new(&it))),
            // The broker sets these for each program of the judge.
            outbound: 0,
            bare: 0,
        }
    }
}

impl SetSpec {
    /// True if the judge looks nothing up in this set.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }

    fn maps(&self, set: SetName) -> Vec<MapUse> {
        let addresses = self.addresses.as_ref().map(|table| (MapPart::Addresses, table.generation));
        let networks = self.networks.map(|map| (MapPart::Networks, map.generation));
        let levels = self.levels.map(|map| (MapPart::Levels, map.generation));
        let six = self.six.as_ref().map(|table| (MapPart::Six, table.generation));
        let in_use = [addresses, networks, levels, six].into_iter().flatten();
        in_use.map(|(part, generation)| MapUse { map: MapName { set, part }, generation }).collect()
    }

    fn label_maps(&self, set: SetName) -> Vec<MapUse> {
        let addresses = self.addresses.as_ref().filter(|table| table.is_labelled());
        let six = self.six.as_ref().filter(|table| table.is_labelled());
        let addresses = addresses.map(|table| (MapPart::AddressLabels, table.generation));
        let six = six.map(|table| (MapPart::SixLabels, table.generation));
        let networks = self.networks.filter(|map| map.label_bits.is_some());
        let networks = networks.map(|map| (MapPart::NetworkLabels, map.generation));
        let levels = self.levels.filter(|map| map.label_bits.is_some());
        let levels = levels.map(|map| (MapPart::LevelLabels, map.generation));
        let in_use = [addresses, networks, levels, six].into_iter().flatten();
        in_use.map(|(part, generation)| MapUse { map: MapName { set, part }, generation }).collect()
    }

    /// The words with the set's labels, or without any.
    fn words(&self, has_labels: bool) -> SetSettings {
        let mut words = self.labelled_words();
        if !has_labels {
            (words.network_pages, words.addresses4.label_words) = (0, 0);
            (words.six.level_pages, words.six.label_words) = (0, 0);
        }
        words
    }

    fn labelled_words(&self) -> SetSettings {
        SetSettings {
            networks4: self.networks.is_some().into(),
            network_pages: self.networks.and_then(|map| map.label_bits).map_or(0, |bits| 1 << bits),
            addresses4: self.addresses.as_ref().map_or(AddressSettings::OFF, AddressTable::settings),
            six: SixSettings {
                last_level_start: self.levels.map_or(0, |map| size::last_start(map.size)),
                level_pages: self.levels.and_then(|map| map.label_bits).map_or(0, |bits| 1 << bits),
                ..self.six.as_ref().map_or(SixSettings::OFF, |table| table.settings(&self.lengths))
            },
        }
    }
}
