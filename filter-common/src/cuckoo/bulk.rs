//! Many pending entries at once: memory is waited for once, not once for each of them.

use super::Table;
use super::scheme::{Home, Scheme};
use crate::{Words, WordsMut};

/// Pending entries that are looked after together: few enough that what is fetched for them stays near.
const AT_ONCE: usize = 64;

impl<S: Scheme, W: Words> Table<S, W> {
    /// Brings the homes of `key` near, for it will soon be wanted.
    #[inline]
    pub fn prefetch(&self, key: S::Key) {
        self.prefetch_homes(&self.scheme.homes(key));
    }

    /// Brings these homes near.
    #[inline]
    pub fn prefetch_homes(&self, homes: &[Home; 2]) {
        homes.iter().for_each(|home| self.prefetch_bucket(home.bucket));
    }

    #[inline]
    fn prefetch_bucket(&self, bucket: u32) {
        core::hint::black_box(self.words.load(self.bucket_words(bucket).start));
    }
}

impl<S: Scheme, W: WordsMut> Table<S, W> {
    /// Lets all `keys` in, as [`insert`](Self::insert) does; tells of each for which there is no room.
    #[inline]
    pub fn insert_all(&self, keys: impl IntoIterator<Item = S::Key>, mut refuse: impl FnMut(S::Key)) {
        let mut keys = keys.into_iter();
        while let Some(first) = keys.next() {
            let mut pending = [(first, self.scheme.homes(first)); AT_ONCE];
            let mut count = 1;
            for (place, key) in pending[1..].iter_mut().zip(&mut keys) {
                *place = (key, self.scheme.homes(key));
                count += 1;
            }
            self.insert_together(&pending[..count], &mut refuse);
        }
    }

    /// Those for whom nobody must move come first: a processor that is sure of what comes next goes ahead.
    #[inline]
    fn insert_together(&self, pending: &[(S::Key, [Home; 2])], refuse: &mut impl FnMut(S::Key)) {
        pending.iter().flat_map(|(_, homes)| homes).for_each(|home| self.prefetch_bucket(home.bucket));
        let (mut crowded, mut count) = ([0; AT_ONCE], 0);
        for (number, (_, homes)) in pending.iter().enumerate() {
            crowded[count] = number;
            count += usize::from(!homes.iter().any(|home| self.take_free(*home)));
        }
        for (key, homes) in crowded[..count].iter().map(|&number| pending[number]) {
            if self.take_by_moves(homes).is_err() {
                refuse(key);
            }
        }
    }
}
