//! Homes of numbers of 64 bits among any number of buckets: bucket and code together spell the number.
//!
//! The product of a number and a secret factor is its *place* (why that is a good hash is told in `exact`). The upper half
//! of the place, times the number of buckets, has the index of the first bucket above its lowest 32 bits: so the places of one
//! bucket are a stretch of consecutive numbers, and all stretches are equally long, within 2^32. A code has the lowest bits of
//! the number; the lowest bits of the place follow from these, and count further than any stretch is long. So bucket and code
//! spell the place, and thereby the number.
//!
//! The second place is the first one, xor what the code's bits of the number are spread to. Its lowest bits follow from the
//! code, too; so it is spelled in the same way, and each home tells the other.
//!
//! Below its bits of the number a code has a tag, which whoever uses this may fill as he likes but for the lowest bit, the
//! side.

use super::scheme::Home;
use crate::width::{Factor, Width};

/// The bit of a tag that says: this is the first home.
pub const FIRST: u64 = 1;

const WIDTH: Width = Width::new(u64::BITS);

/// Homes of numbers of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Exact64 {
    factor: Factor,
    buckets: u32,
    tag_bits: u32,
}

impl Exact64 {
    /// A scheme for so many buckets, at least `2^tag_bits`, whose codes have tags of so many bits. The factor is odd.
    #[inline(always)]
    pub const fn new(factor: u64, buckets: u32, tag_bits: u32) -> Self {
        Self { factor: Factor::new(factor), buckets, tag_bits }
    }

    /// Bits of a tag.
    #[inline(always)]
    pub const fn tag_bits(&self) -> u32 {
        self.tag_bits
    }

    /// The two homes of this number with this tag, whose side is told here.
    #[inline(always)]
    pub const fn homes(&self, number: u64, tag: u64) -> [Home; 2] {
        let kept = number << self.tag_bits;
        let place = WIDTH.times(number, self.factor);
        let code = kept | tag;
        [
            Home { bucket: self.bucket(place), code: code | FIRST },
            Home { bucket: self.bucket(place ^ WIDTH.spread(kept)), code },
        ]
    }

    /// The other home of whoever stands in this one.
    pub const fn other(&self, home: Home) -> Home {
        let spread = WIDTH.spread(self.kept(home));
        Home { bucket: self.bucket(self.place(home) ^ spread), code: home.code ^ FIRST }
    }

    /// The number that stands in `home`.
    pub const fn number(&self, home: Home) -> u64 {
        let side = if home.code & FIRST != 0 { 0 } else { WIDTH.spread(self.kept(home)) };
        WIDTH.divided(self.place(home) ^ side, self.factor)
    }

    /// The place by which somebody came to this home: his first or his second one.
    const fn place(&self, home: Home) -> u64 {
        let kept = self.kept(home);
        let first = WIDTH.times(kept >> self.tag_bits, self.factor);
        let lowest = if home.code & FIRST != 0 { first } else { first ^ WIDTH.spread(kept) };
        let start = ((home.bucket as u64) << 32).div_ceil(self.buckets as u64) << 32;
        start.wrapping_add(lowest.wrapping_sub(start) & (u64::MAX >> self.tag_bits))
    }

    /// The bucket of a place. Written so that every verifier knows it to be one of the table's.
    #[inline(always)]
    const fn bucket(&self, place: u64) -> u32 {
        (((place >> 32) * self.buckets as u64) >> 32) as u32
    }

    /// The bits of the number that a code has, where they stand.
    const fn kept(&self, home: Home) -> u64 {
        home.code & (u64::MAX << self.tag_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::geometry::Geometry;
    use crate::cuckoo::tests::Numbers;
    use proptest::prelude::*;

    fn scheme(seed: u64, buckets: u32) -> Exact64 {
        Exact64::new(Numbers(seed).next().unwrap() | 1, buckets, buckets.ilog2())
    }

    /// Each of two homes spells the number, and tells the other one.
    fn check(scheme: &Exact64, number: u64, tag: u64) {
        let homes = scheme.homes(number, tag);
        assert_eq!(homes.map(|home| scheme.number(home)), [number; 2], "{scheme:?}");
        assert_eq!(homes.map(|home| scheme.other(home)), [homes[1], homes[0]], "{number} in {scheme:?}");
        assert!(homes.iter().all(|home| home.bucket < scheme.buckets), "{number} in {scheme:?}");
    }

    proptest! {
        #[test]
        fn each_home_spells_its_number(seed: u64, buckets in 128_u32..=1 << 24, number: u64, tag: u64) {
            let tag_bits = buckets.ilog2();
            check(&scheme(seed, buckets), number, (tag % (1 << tag_bits)) & !FIRST);
        }

        /// The lowest bits of a number, which the code has, and its bucket leave one number: however the bits above differ.
        #[test]
        fn numbers_that_are_alike_in_their_codes_are_not_in_one_bucket(
            seed: u64, buckets in 128_u32..=1 << 24, number: u64, differ in 1..1_u64 << 24,
        ) {
            let scheme = scheme(seed, buckets);
            let differ = differ << (64 - buckets.ilog2());
            prop_assume!(differ != 0);
            let [one, other] = [number, number ^ differ].map(|number| scheme.homes(number, 0));
            prop_assert_eq!(one.map(|home| home.code), other.map(|home| home.code));
            prop_assert!((0..2).all(|side| one[side] != other[side]));
        }
    }

    /// The first and the last place of a bucket are the ones at which a stretch could be taken for its neighbour.
    #[test]
    fn the_ends_of_every_stretch_are_spelled_right_at_every_size() {
        for geometry in Geometry::all_six() {
            let buckets = geometry.buckets();
            let scheme = scheme(buckets.into(), buckets);
            let mut some = Numbers(buckets.into()).map(|number| (number % u64::from(buckets)) as u32);
            let some: [u32; 6] = core::array::from_fn(|_| some.next().unwrap());
            for bucket in [0, 1, buckets - 2, buckets - 1].into_iter().chain(some) {
                let start = (u64::from(bucket) << 32).div_ceil(buckets.into()) << 32;
                for place in [start, start.wrapping_sub(1), start + 1, start | 0xFFFF_FFFF] {
                    let number = WIDTH.divided(place, scheme.factor);
                    assert_eq!(WIDTH.times(number, scheme.factor), place);
                    check(&scheme, number, 0);
                }
                assert_eq!(scheme.bucket(start), bucket);
                assert_ne!(scheme.bucket(start.wrapping_sub(1)), bucket);
            }
        }
    }
}
