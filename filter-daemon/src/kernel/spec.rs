//! What a judge is built for: which lookups it makes, in tables of which geometry, under which keys.

use std::collections::BTreeSet;

use filter_common::labels::Counters;
use filter_common::settings::{self as words, AddressSettings, SetSettings, SixSettings};

use super::broker::request::{Blueprint, MapName, MapPart, MapUse, SetName};
use super::kind::{Addresses, Kind as _, SixTable};
use super::levels::LevelsMap;
use super::lists::ListsMap;
use super::networks::NetworksMap;
use crate::blocklist::Settings;
use crate::clock;

/// Everything that the words of a judge's settings say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeSpec {
    /// How packets are judged, whatever is listed.
    pub settings: Settings,
    /// What is blocked.
    pub block: SetSpec,
    /// What is allowed.
    pub allow: SetSpec,
    /// The generation of the word that tells whether they may overlap, if anything is allowed.
    pub overlap: Option<u64>,
    /// The counters of lists, if there are any: the settings say whether packets are counted for them.
    pub lists: Option<ListsMap>,
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
        let mut maps = self.block.maps(SetName::Block);
        if let Some(lists) = self.lists {
            let map = MapName { set: SetName::Block, part: MapPart::Lists };
            maps.push(MapUse { map, generation: lists.generation });
        }
        maps.extend(self.block.label_maps(SetName::Block));
        maps.extend(self.allow.maps(SetName::Allow));
        maps.extend(self.overlap.map(|generation| MapUse { map: overlap, generation }));
        Blueprint { settings: self.words().as_words().to_vec(), maps }
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
            block: self.block.words(),
            allow: self.allow.words(),
        }
    }
}

impl SetSpec {
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

    fn words(&self) -> SetSettings {
        SetSettings {
            networks4: self.networks.is_some().into(),
            network_pages: self.networks.and_then(|map| map.label_bits).map_or(0, |bits| 1 << bits),
            addresses4: self.addresses.as_ref().map_or(AddressSettings::OFF, Addresses::settings),
            six: SixSettings {
                last_level_word: self.levels.map_or(0, |map| (1 << map.size_bits) - 1),
                level_pages: self.levels.and_then(|map| map.label_bits).map_or(0, |bits| 1 << bits),
                ..self.six.as_ref().map_or(SixSettings::OFF, |table| table.settings(&self.lengths))
            },
        }
    }
}
