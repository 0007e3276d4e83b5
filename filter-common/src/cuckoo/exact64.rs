//! The homes of 64-bit numbers among any number of buckets. Bucket and code together determine the number.
//!
//! The product of a number and a secret factor is its *place* (`exact` explains why this is a good hash). The
//! upper half of the place times the number of buckets has the index of the first bucket above its lowest 32
//! bits. The places of one bucket are therefore a range of consecutive numbers, and all ranges have the same
//! length to within 2^32. A code has the lowest bits of the number. These determine the lowest bits of the
//! place, which can tell apart more places than any range has. Bucket and code therefore determine the place,
//! and so the number.
//!
//! The second place is the first one XOR a value into which the code's bits of the number are spread. Its
//! lowest bits also depend on the code only. The same argument holds for it, and each home determines the
//! other.
//!
//! Below the bits of the number a code has a tag. Callers may use all bits of the tag except the lowest,
//! which is the side.

use super::scheme::Home;
use crate::width::{Factor, Width};

/// The bit of a tag that marks the first home.
pub const FIRST: u64 = 1;

const WIDTH: Width = Width::new(u64::BITS);

/// The homes of 64-bit numbers.
#[derive(Clone, Copy, Debug)]
pub struct Exact64 {
    factor: Factor,
    buckets: u32,
    tag_bits: u32,
}

impl Exact64 {
    /// A scheme for `buckets` buckets, at least `2^tag_bits`, whose codes have tags of `tag_bits` bits. The
    /// factor must be odd.
    #[inline(always)]
    pub const fn new(factor: u64, buckets: u32, tag_bits: u32) -> Self {
        Self { factor: Factor::new(factor), buckets, tag_bits }
    }

    /// The number of bits in a tag.
    #[inline(always)]
    pub const fn tag_bits(&self) -> u32 {
        self.tag_bits
    }

    /// The two homes of this number with this tag. The side bit is added here.
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

    /// The other home of the entry in this home.
    pub const fn other(&self, home: Home) -> Home {
        let spread = WIDTH.spread(self.kept(home));
        Home { bucket: self.bucket(self.place(home) ^ spread), code: home.code ^ FIRST }
    }

    /// The number of the entry in `home`.
    pub const fn number(&self, home: Home) -> u64 {
        let side = if home.code & FIRST != 0 { 0 } else { WIDTH.spread(self.kept(home)) };
        WIDTH.divided(self.place(home) ^ side, self.factor)
    }

    /// The place of the entry in this home: its first place or its second one, depending on the side.
    const fn place(&self, home: Home) -> u64 {
        let kept = self.kept(home);
        let first = WIDTH.times(kept >> self.tag_bits, self.factor);
        let lowest = if home.code & FIRST != 0 { first } else { first ^ WIDTH.spread(kept) };
        let start = ((home.bucket as u64) << 32).div_ceil(self.buckets as u64) << 32;
        start.wrapping_add(lowest.wrapping_sub(start) & (u64::MAX >> self.tag_bits))
    }

    /// The bucket of a place. The formula lets every verifier see that the bucket is inside the table.
    #[inline(always)]
    const fn bucket(&self, place: u64) -> u32 {
        (((place >> 32) * self.buckets as u64) >> 32) as u32
    }

    /// The bits of the number that a code contains, in their positions.
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

    /// Each of two homes determines the number and the other home.
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

        /// Two numbers with equal lowest bits, which the code contains, are never in one bucket, whatever
        /// their higher bits are.
        #[test]
        fn equal_codes_never_share_a_bucket(
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

    /// The first and the last place of a bucket are those that could be confused with the neighbouring range.
    #[test]
    fn range_ends_are_exact_at_every_size() {
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
