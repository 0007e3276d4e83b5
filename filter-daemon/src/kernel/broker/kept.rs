//! Which maps stay pinned, so that a judge can be loaded for them: each from when it is made until it is discarded, or until
//! a judge is published that no longer uses it. A map in the making outlives any number of publications.

use super::request::MapUse;

/// The maps whose pins are kept. All others were left by an earlier daemon, and go when the first judge is published.
#[derive(Debug, Default)]
pub struct Kept {
    maps: Vec<MapUse>,
    /// Those of them that the published judge uses.
    used: Vec<MapUse>,
}

impl Kept {
    /// A map has been made.
    pub fn made(&mut self, map: MapUse) {
        self.maps.push(map);
    }

    /// A map is not wanted any more; says whether it may go: not while packets are judged by it.
    pub fn discarded(&mut self, map: MapUse) -> bool {
        let may_go = !self.used.contains(&map);
        if may_go {
            self.maps.retain(|kept| *kept != map);
        }
        may_go
    }

    /// A judge that uses these has been published.
    pub fn published(&mut self, uses: &[MapUse]) {
        self.maps.retain(|kept| uses.contains(kept) || !self.used.contains(kept));
        self.used = uses.to_vec();
    }

    /// Those to keep.
    pub fn maps(&self) -> &[MapUse] {
        &self.maps
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::{MapName, MapPart, SetName};
    use super::*;

    fn map(generation: u64) -> MapUse {
        MapUse { map: MapName { set: SetName::Block, part: MapPart::Addresses }, generation }
    }

    #[test]
    fn a_map_in_the_making_outlives_what_is_published_meanwhile() {
        let mut kept = Kept::default();
        [1, 2, 3].into_iter().for_each(|generation| kept.made(map(generation)));
        kept.published(&[map(1)]);
        assert_eq!(kept.maps(), [1, 2, 3].map(map));
        kept.published(&[map(2)]);
        assert_eq!(kept.maps(), [2, 3].map(map), "the first one has been replaced");
        assert!(kept.discarded(map(3)) && !kept.discarded(map(2)));
        assert_eq!(kept.maps(), [map(2)], "what is in use stays");
    }
}
