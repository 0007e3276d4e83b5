//! Adds many entries at once, so that memory latency is paid once for all of them instead of once for each.

use super::Table;
use super::scheme::{Home, Scheme};
use crate::labels::{Label, LabelsMut, OTHER};
use crate::{Words, WordsMut};

/// The number of entries handled together: few enough that the prefetched words stay in the cache.
const AT_ONCE: usize = 64;

impl<S: Scheme, W: Words, L> Table<S, W, L> {
    /// Prefetches the homes of `key`, which will soon be read.
    #[inline]
    pub fn prefetch(&self, key: S::Key) {
        self.prefetch_homes(&self.scheme.homes(key));
    }

    /// Prefetches both of these homes.
    #[inline]
    pub fn prefetch_homes(&self, homes: &[Home; 2]) {
        homes.iter().for_each(|home| self.prefetch_bucket(home.bucket));
    }

    #[inline]
    fn prefetch_bucket(&self, bucket: u32) {
        core::hint::black_box(self.words.load(self.bucket_words(bucket).start));
    }
}

impl<S: Scheme, W: WordsMut, L: LabelsMut> Table<S, W, L> {
    /// Adds all `keys`, as [`insert`](Self::insert) does. Calls `refuse` for each key that finds no room.
    #[inline]
    pub fn insert_all(&self, keys: impl IntoIterator<Item = S::Key>, mut refuse: impl FnMut(S::Key)) {
        self.insert_all_as(keys.into_iter().map(|key| (key, OTHER)), |(key, _)| refuse(key));
    }

    /// Adds keys that have labels in the same way.
    #[inline]
    pub fn insert_all_as(
        &self,
        keys: impl IntoIterator<Item = (S::Key, Label)>,
        mut refuse: impl FnMut((S::Key, Label)),
    ) {
        let mut keys =
            keys.into_iter().map(|(key, label)| Pending { key, label, homes: self.scheme.homes(key) });
        while let Some(first) = keys.next() {
            let mut pending = [first; AT_ONCE];
            let mut count = 1;
            for (place, key) in pending[1..].iter_mut().zip(&mut keys) {
                *place = key;
                count += 1;
            }
            self.insert_together(&pending[..count], &mut refuse);
        }
    }

    /// Entries that need no moves are added first, because a processor runs ahead when branches are
    /// predictable.
    #[inline]
    fn insert_together(&self, pending: &[Pending<S::Key>], refuse: &mut impl FnMut((S::Key, Label))) {
        pending.iter().flat_map(|one| one.homes).for_each(|home| self.prefetch_bucket(home.bucket));
        let (mut crowded, mut count) = ([0; AT_ONCE], 0);
        for (number, Pending { homes, label, .. }) in pending.iter().enumerate() {
            crowded[count] = number;
            count += usize::from(!self.insert_free_at(*homes, *label));
        }
        for Pending { key, label, homes } in crowded[..count].iter().map(|&number| pending[number]) {
            if self.take_by_moves(homes, label).is_err() {
                refuse((key, label));
            }
        }
    }
}

/// An entry to add, and its two homes.
#[derive(Clone, Copy)]
struct Pending<K> {
    key: K,
    label: Label,
    homes: [Home; 2],
}
