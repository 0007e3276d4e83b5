//! Records which maps stay pinned, so that judges can be loaded for them. A map is kept from its creation
//! until it is discarded, or until a judge is published that no longer uses it. Maps that no judge has used
//! yet survive publications.
//!
//! Their size and number are limited, because a hijacked daemon may send the requests.

use super::super::KernelError;
use super::request::MapUse;
use super::size::{self, MOST_BYTES, MOST_OF_A_PART};

/// How far a map number may exceed the highest one so far. filterd counts by one, and its successor continues
/// from there.
const FARTHEST: u64 = 1 << 32;

/// The maps whose pins are kept. All others come from an earlier daemon, and are removed at the first
/// publication.
#[derive(Debug, Default)]
pub struct KeptMaps {
    maps: Vec<KeptMap>,
    /// The kept maps that the published judge uses.
    used: Vec<MapUse>,
    /// The highest map number so far.
    latest: u64,
}

#[derive(Debug)]
struct KeptMap {
    name: MapUse,
    bytes: u64,
}

impl KeptMaps {
    /// No maps yet; those of an earlier daemon have numbers up to `latest`.
    pub fn behind(latest: u64) -> Self {
        Self { latest, ..Self::default() }
    }

    /// Checks whether this map of this many words may be made.
    pub fn may_make(&self, map: MapUse, words: u32) -> Result<(), KernelError> {
        let refused = |why: &str| Err(KernelError::refused(&format!("make {}", map.map.name()), why));
        let Some(bytes) = size::bytes(map.map, words) else {
            return refused(&format!("no table has {words} words"));
        };
        if self.contains(map) {
            return refused(&format!("number {} is there", map.generation));
        }
        if map.generation > self.latest.saturating_add(FARTHEST) {
            return refused(&format!("number {} is far ahead of {}", map.generation, self.latest));
        }
        if self.maps.iter().filter(|kept| kept.name.map == map.map).count() >= MOST_OF_A_PART {
            return refused(&format!("there are {MOST_OF_A_PART} already"));
        }
        if self.bytes().saturating_add(bytes) > MOST_BYTES {
            return refused(&format!("all tables would have more than {MOST_BYTES} bytes"));
        }
        Ok(())
    }

    /// Checks whether a judge may be loaded on these maps.
    pub fn may_use(&self, maps: &[MapUse]) -> Result<(), KernelError> {
        let refused = |why: &str| Err(KernelError::refused("load the judge", why));
        for (at, map) in maps.iter().enumerate() {
            if !self.contains(*map) {
                return refused(&format!("there is no map {} {}", map.map.name(), map.generation));
            }
            if maps[..at].iter().any(|other| other.map == map.map) {
                return refused(&format!("it has {} twice", map.map.name()));
            }
        }
        Ok(())
    }

    /// Records a map that is being made.
    pub fn made(&mut self, map: MapUse, words: u32) {
        self.latest = self.latest.max(map.generation);
        self.maps.push(KeptMap { name: map, bytes: u64::from(words) * 8 });
    }

    /// Discards a map that is not needed. True if its pin may be removed. A map that the published judge
    /// uses, or that was not made here, stays.
    pub fn discarded(&mut self, map: MapUse) -> bool {
        let may_go = self.contains(map) && !self.used.contains(&map);
        if may_go {
            self.maps.retain(|kept| kept.name != map);
        }
        may_go
    }

    /// Records the maps of a published judge, and drops maps that only its predecessor used.
    pub fn published(&mut self, uses: &[MapUse]) {
        self.maps.retain(|kept| uses.contains(&kept.name) || !self.used.contains(&kept.name));
        self.used = uses.to_vec();
    }

    pub fn bytes(&self) -> u64 {
        self.maps.iter().map(|kept| kept.bytes).sum()
    }

    pub fn maps(&self) -> Vec<MapUse> {
        self.maps.iter().map(|kept| kept.name).collect()
    }

    fn contains(&self, map: MapUse) -> bool {
        self.maps.iter().any(|kept| kept.name == map)
    }
}

#[cfg(test)]
mod tests {
    use filter_common::cuckoo::geometry::Geometry;
    use filter_common::labels::pages;
    use filter_common::sets::SetName;
    use filter_common::{labels, levels, networks};

    use super::super::processors;
    use super::super::request::{MapName, MapPart};
    use super::super::size::{labels_beside, level_labels, network_labels, table};
    use super::*;

    fn map_of(part: MapPart, generation: u64) -> MapUse {
        MapUse { map: MapName { set: SetName::Block, part }, generation }
    }

    fn map(generation: u64) -> MapUse {
        map_of(MapPart::Addresses, generation)
    }

    fn why(refused: Result<(), KernelError>) -> String {
        refused.expect_err("it is refused").to_string()
    }

    #[test]
    fn unpublished_map_survives_other_publications() {
        let mut kept = KeptMaps::default();
        [1, 2, 3]
            .into_iter()
            .for_each(|generation| kept.made(map(generation), table(Geometry::SMALLEST_EXACT4)));
        kept.published(&[map(1)]);
        assert_eq!(kept.maps(), [1, 2, 3].map(map));
        kept.published(&[map(2)]);
        assert_eq!(kept.maps(), [2, 3].map(map), "the first one has been replaced");
        assert!(kept.discarded(map(3)) && !kept.discarded(map(2)));
        assert_eq!(kept.maps(), [map(2)], "what is in use stays");
        assert!(!kept.discarded(map(9)), "what nobody has made here is nobody's to discard");
    }

    #[test]
    fn maps_are_limited_in_size_number_and_sum() {
        let mut kept = KeptMaps::behind(7);
        kept.may_make(map(8), table(Geometry::SMALLEST_EXACT4)).unwrap();
        assert!(why(kept.may_make(map(8), u32::MAX)).ends_with("no table has 4294967295 words"));
        assert!(why(kept.may_make(map(8), 0)).ends_with("no table has 0 words"));
        assert!(
            why(kept.may_make(map(u64::MAX), table(Geometry::SMALLEST_EXACT4))).contains("far ahead of 7")
        );
        kept.made(map(8), table(Geometry::SMALLEST_EXACT4));
        assert!(why(kept.may_make(map(8), table(Geometry::SMALLEST_EXACT4))).ends_with("number 8 is there"));
        (9..12).for_each(|generation| kept.made(map(generation), table(Geometry::SMALLEST_EXACT4)));
        assert!(
            why(kept.may_make(map(12), table(Geometry::SMALLEST_EXACT4))).ends_with("there are 4 already")
        );
        kept.may_make(map_of(MapPart::Six, 12), table(Geometry::SMALLEST_SIX)).unwrap();
    }

    #[test]
    fn largest_tables_fit_the_common_limit() {
        let mut kept = KeptMaps::default();
        let largest = [
            (MapPart::Addresses, table(Geometry::LARGEST_EXACT4)),
            (MapPart::AddressLabels, labels_beside(Geometry::LARGEST_EXACT4)),
            (MapPart::Six, table(Geometry::LARGEST_SIX)),
            (MapPart::SixLabels, labels_beside(Geometry::LARGEST_SIX)),
            (MapPart::Networks, networks::WORDS),
            (MapPart::NetworkLabels, network_labels(*pages::SIZES.end())),
            (MapPart::Levels, levels::size::LARGEST),
            (MapPart::LevelLabels, level_labels(levels::size::LARGEST, *pages::SIZES.end())),
            (MapPart::Lists, processors::MOST * labels::COUNTERS),
        ];
        for generation in 1..=3 {
            for (part, words) in largest {
                kept.may_make(map_of(part, generation), words).unwrap();
                kept.made(map_of(part, generation), words);
            }
        }
        assert!(
            why(kept.may_make(map(4), table(Geometry::LARGEST_EXACT4)))
                .contains("all tables would have more than")
        );
        assert!(kept.discarded(map(1)));
        kept.may_make(map(4), table(Geometry::LARGEST_EXACT4)).unwrap();
    }

    #[test]
    fn judge_uses_existing_maps_once_each() {
        let mut kept = KeptMaps::default();
        [1, 2]
            .into_iter()
            .for_each(|generation| kept.made(map(generation), table(Geometry::SMALLEST_EXACT4)));
        kept.may_use(&[map(2)]).unwrap();
        assert!(why(kept.may_use(&[map(3)])).ends_with("there is no map addresses 3"));
        assert!(why(kept.may_use(&[map(1), map(2)])).ends_with("it has addresses twice"));
    }
}
