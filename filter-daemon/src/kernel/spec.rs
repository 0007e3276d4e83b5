//! What a judge is built for: which lookups it makes, in tables of which geometry, under which keys.

use std::collections::BTreeSet;

use filter_common::settings as words;

use super::broker::request::{Blueprint, MapName, MapPart, MapUse, SetName};
use super::kind::{Addresses, Kind, SixTable};
use crate::blocklist::Settings;

/// Everything that the words of a judge's settings say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeSpec {
    /// How packets are judged, whatever is listed.
    pub settings: Settings,
    /// What is blocked.
    pub block: SetSpec,
}

/// What a judge must know of one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetSpec {
    /// The generation of the IPv4 prefixes' map, if there are any.
    pub networks: Option<u64>,
    /// The table of IPv4 addresses, if there is one.
    pub addresses: Option<Addresses>,
    /// The table of IPv6 prefixes, if there is one.
    pub six: Option<SixTable>,
    /// The IPv6 lengths that are looked up in it.
    pub lengths: BTreeSet<u8>,
}

impl JudgeSpec {
    /// What the judge is built from.
    pub fn blueprint(&self) -> Blueprint {
        Blueprint { settings: self.words().to_vec(), maps: self.block.maps(SetName::Block) }
    }

    /// The words that go into the program.
    pub fn words(&self) -> words::Settings {
        let mut all = [0; words::WORDS];
        all[words::ENFORCE] = self.settings.enforce.into();
        self.block.put(&mut all);
        all
    }
}

impl SetSpec {
    fn maps(&self, set: SetName) -> Vec<MapUse> {
        let addresses = self.addresses.as_ref().map(|table| (MapPart::Addresses, table.generation));
        let networks = self.networks.map(|generation| (MapPart::Networks, generation));
        let six = self.six.as_ref().map(|table| (MapPart::Six, table.generation));
        let in_use = [addresses, networks, six].into_iter().flatten();
        in_use.map(|(part, generation)| MapUse { map: MapName { set, part }, generation }).collect()
    }

    fn put(&self, all: &mut words::Settings) {
        all[words::NETWORKS4] = self.networks.is_some().into();
        if let Some(table) = &self.addresses {
            put_addresses(all, table);
        }
        if let Some(table) = &self.six {
            put_six(all, table, &self.lengths);
        }
    }
}

fn put_addresses(all: &mut words::Settings, table: &Addresses) {
    let (geometry, key) = (table.geometry(), table.key());
    all[words::ADDRESSES4] = 1;
    all[words::INDEX_BITS4] = geometry.index_bits().into();
    all[words::LANE_ONES4] = geometry.lanes().ones();
    all[words::LANE_HIGHS4] = geometry.lanes().highs();
    all[words::KEY4..][..key.len()].copy_from_slice(key);
}

fn put_six(all: &mut words::Settings, table: &SixTable, lengths: &BTreeSet<u8>) {
    let others: Vec<u8> = lengths.iter().copied().filter(|&length| length != 64).collect();
    let (key64, key) = table.keys();
    all[words::NETS64] = lengths.contains(&64).into();
    all[words::LENGTHS6] = others.len() as u64;
    all[words::INDEX_BITS6] = table.geometry().index_bits().into();
    all[words::LAST_BUCKET6] = (table.geometry().buckets() - 1).into();
    all[words::KEY64..][..key64.len()].copy_from_slice(key64);
    all[words::KEY6..][..key.len()].copy_from_slice(key);
    for (entry, length) in all[words::LENGTH..].chunks_exact_mut(words::LENGTH_WORDS).zip(others) {
        let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        entry.copy_from_slice(&[length.into(), (mask >> 64) as u64, mask as u64]);
    }
}
