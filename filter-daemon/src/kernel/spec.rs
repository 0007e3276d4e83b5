//! What a judge is built for: which lookups it makes, in tables of which geometry, under which keys.

use std::collections::BTreeSet;

use filter_common::ports::Clause;
use filter_common::sets::{PerSet, SLOTS, SetName};
use filter_common::settings::{self as words, AddressSettings, PortSettings, SetSettings, SixSettings};

use super::broker::request::{Blueprint, MapName, MapPart, MapUse};
use super::kind::{Addresses, SixTable};
use super::levels::LevelsMap;
use crate::blocklist::Settings;
use crate::clock;

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
}

/// What a judge must know of one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetSpec {
    /// The generation of the IPv4 prefixes' map, if there are any.
    pub networks: Option<u64>,
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
        maps.extend(self.overlap.map(|generation| MapUse { map: overlap, generation }));
        let has_ports = self.clauses.iter().any(Option::is_some);
        Blueprint { has_ports, settings: self.words().as_words().to_vec(), maps }
    }

    /// The words that go into the program.
    pub fn words(&self) -> words::Settings {
        words::Settings {
            enforce: self.settings.enforcement() as u64,
            paused_until: self.settings.paused.map_or(0, clock::in_the_kernel),
            overlap: self.overlap.is_some().into(),
            match_new: self.settings.match_new.into(),
            sets: PerSet::from_fn(|name| self.sets[name].words()),
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
        let networks = self.networks.map(|generation| (MapPart::Networks, generation));
        let levels = self.levels.map(|map| (MapPart::Levels, map.generation));
        let six = self.six.as_ref().map(|table| (MapPart::Six, table.generation));
        let in_use = [addresses, networks, levels, six].into_iter().flatten();
        in_use.map(|(part, generation)| MapUse { map: MapName { set, part }, generation }).collect()
    }

    fn words(&self) -> SetSettings {
        SetSettings {
            networks4: self.networks.is_some().into(),
            addresses4: self.addresses.as_ref().map_or(AddressSettings::OFF, Addresses::settings),
            six: SixSettings {
                last_level_word: self.levels.map_or(0, |map| (1 << map.size_bits) - 1),
                ..self.six.as_ref().map_or(SixSettings::OFF, |table| table.settings(&self.lengths))
            },
        }
    }
}
