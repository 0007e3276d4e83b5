//! What a judge is built for: which lookups it makes, in tables of which geometry, under which keys.

use std::collections::BTreeSet;

use filter_common::labels::Counters;
use filter_common::levels::size;
use filter_common::ports::Clause;
use filter_common::sets::{PerSet, SLOTS, SetName};
use filter_common::settings::{self as words, AddressSettings, PortSettings, SetSettings, SixSettings};

use super::broker::request::{Blueprint, MapName, MapPart, MapUse};
use super::kind::{Addresses, Kind as _, SixTable};
use super::levels::LevelsMap;
use super::lists::ListsMap;
use super::networks::NetworksMap;
use crate::blocklist::Settings;
use crate::clock;

#[cfg(test)]
mod tests;

/// The most maps that a kernel lets one program reach (`MAX_USED_MAPS`).
const MOST_MAPS: usize = 64;

/// Those of them that belong to no set: settings, counters, those of lists, own flows, samples, and the word of what overlaps.
const OTHER_MAPS: usize = 6;

/// The most tables that a set has.
const SET_TABLES: usize = 4;

const _: () = assert!(
    SetName::COUNT * SET_TABLES + OTHER_MAPS <= MOST_MAPS,
    "a judge reaches more maps than a kernel lets one program reach"
);

/// Everything that the words of a judge's settings say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeSpec {
    /// How packets are judged, whatever is listed.
    pub settings: Settings,
    /// Each set.
    pub sets: PerSet<SetSpec>,
    /// The clause of each that has one.
    pub clauses: [Option<Clause>; SLOTS],
    /// The generation of the word that tells whether they may overlap, if anything is allowed.
    pub overlap: Option<u64>,
    /// The counters of lists, if there are any: the settings say whether packets are counted for them.
    pub lists: Option<ListsMap>,
    /// Of drops so many are told in full (`samples`); 0 if none.
    pub samples: u64,
}

/// What a judge must know of one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetSpec {
    /// The map of the IPv4 prefixes, if there are any.
    pub networks: Option<NetworksMap>,
    /// The table of IPv4 addresses, if there is one.
    pub addresses: Option<Addresses>,
    /// The map that tells IPv6 from the top, if there is any.
    pub levels: Option<LevelsMap>,
    /// The table of IPv6 prefixes behind it, if there is one.
    pub six: Option<SixTable>,
    /// The lengths that are looked up in it.
    pub lengths: BTreeSet<u8>,
}

impl JudgeSpec {
    /// What the judge is built from.
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
        Blueprint { has_ports, settings: self.words().as_words().to_vec(), maps }
    }

    /// Are packets that meet this set counted for lists? Where the kernel takes no more maps, those of the last clauses count
    /// for all lists without a number: that can be while one configuration takes the other's place.
    fn counts_by_list(&self, name: SetName) -> bool {
        let tables: usize = self.sets.iter().map(|(name, set)| set.maps(name).len()).sum();
        let up_to_it = self.sets.iter().filter(|(other, _)| other.number() <= name.number());
        let labels: usize = up_to_it.map(|(other, set)| set.label_maps(other).len()).sum();
        tables + labels + OTHER_MAPS <= MOST_MAPS
    }

    /// The words that go into the program.
    pub fn words(&self) -> words::Settings {
        words::Settings {
            enforce: self.settings.enforcement() as u64,
            paused_until: self.settings.paused.map_or(0, clock::in_the_kernel),
            overlap: self.overlap.is_some().into(),
            match_new: self.settings.match_new.into(),
            lists: (self.lists.is_some() && self.settings.counters == Counters::Lists).into(),
            // Whoever holds the counters of all packets knows it anyway.
            last_processor: self.lists.map_or(0, |lists| lists.processors - 1).into(),
            samples: self.samples,
            sets: PerSet::from_fn(|name| self.sets[name].words(self.counts_by_list(name))),
            ports: self.clauses.map(|clause| clause.map_or(PortSettings::OFF, |it| PortSettings::new(&it))),
        }
    }
}

impl SetSpec {
    /// Is nothing looked up in it?
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

    /// With its labels, or as if it had none.
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
            addresses4: self.addresses.as_ref().map_or(AddressSettings::OFF, Addresses::settings),
            six: SixSettings {
                last_level_start: self.levels.map_or(0, |map| size::last_start(map.size)),
                level_pages: self.levels.and_then(|map| map.label_bits).map_or(0, |bits| 1 << bits),
                ..self.six.as_ref().map_or(SixSettings::OFF, |table| table.settings(&self.lengths))
            },
        }
    }
}
