//! Adds many entries at once. Their homes are computed once and prefetched together, so that the processor
//! waits for memory once instead of once an entry.

use std::hint::black_box;

use filter_common::WordsMut;
use filter_common::cuckoo::Full;
use filter_common::cuckoo::scheme::{Home, Scheme};
use filter_common::labels::{Label, LabelsMut};

use super::Moving;

/// Keys whose homes are prefetched together: few enough to stay in the near cache.
const AT_ONCE: usize = 64;

/// Whether packets read the table during the additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Packets read the table.
    Packets,
    /// No packet reads the table yet.
    Nobody,
}

impl<S, W, L> Moving<S, W, L>
where
    S: Scheme + Copy,
    S::Key: PartialEq,
    W: WordsMut,
    L: LabelsMut,
{
    /// Adds `keys` until one finds no room. Returns how many were processed before that one. For keys that
    /// are there already only the label changes.
    pub fn enter_all(&mut self, mut keys: impl Iterator<Item = (S::Key, Label)>, readers: Readers) -> usize {
        let (mut together, mut entered) = (Vec::with_capacity(AT_ONCE), 0);
        loop {
            together.extend(keys.by_ref().take(AT_ONCE).map(|key| (key, self.table.scheme().homes(key.0))));
            if together.is_empty() {
                return entered;
            }
            together.iter().for_each(|(_, homes)| self.prefetch(homes));
            for ((key, label), homes) in together.drain(..) {
                if self.enter_at(key, label, homes, readers).is_err() {
                    return entered;
                }
                entered += 1;
            }
        }
    }

    /// Prefetches these homes, and the labels of the first one, which are written before it. Most keys have
    /// room in the first home, so prefetching the labels of the second would be wasted.
    fn prefetch(&self, homes: &[Home; 2]) {
        self.table.prefetch_homes(homes);
        black_box(self.table.label_at(self.table.slot(homes[0].bucket, 0)));
    }

    fn enter_at(
        &mut self,
        key: S::Key,
        label: Label,
        homes: [Home; 2],
        readers: Readers,
    ) -> Result<(), Full> {
        if self.is_at(key, homes) {
            self.relabel(key, label);
            return Ok(());
        }
        match readers {
            Readers::Packets => self.add_at(key, label, homes),
            Readers::Nobody => self.fill_at(homes, label),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use filter_common::cuckoo::exact::{self, Exact};
    use filter_common::cuckoo::geometry::Geometry;
    use filter_common::labels::{NoLabels, OTHER};
    use filter_common::stash;

    use super::*;

    const KEY: [u64; 3] = [0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];

    fn plain(keys: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Label)> {
        keys.map(|key| (key, OTHER))
    }

    #[test]
    fn bulk_add_skips_duplicates_and_stops_when_full() {
        let geometry = Geometry::SMALLEST_EXACT4;
        for readers in [Readers::Packets, Readers::Nobody] {
            let words = vec![Cell::new(0); (stash::WORDS + geometry.words()) as usize];
            let scheme = Exact::new(32, exact::key(KEY), geometry);
            let mut live = Moving::new(scheme, geometry, &words[..], NoLabels);
            assert_eq!(live.enter_all(plain(0..300), readers), 300);
            assert_eq!(live.enter_all(plain(200..400), readers), 200);
            assert_eq!(live.entries(), 400);
            let entered = live.enter_all(plain(400..10_000), readers) as u64;
            assert!(entered < 9_600);
            assert_eq!(live.entries(), 400 + entered);
            assert!((0..10_000).all(|key| live.contains(key) == (key < 400 + entered)), "{readers:?}");
        }
    }
}
