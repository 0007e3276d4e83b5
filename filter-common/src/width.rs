//! Numbers of a certain width in bits, their products, and the inverses of these.

/// A width of numbers in bits: from 2 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width(u32);

impl Width {
    /// The width of `bits` bits.
    #[inline(always)]
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// The number of bits of this width.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The product of `number` and `factor`, truncated to this width.
    #[inline(always)]
    pub const fn times(self, number: u64, factor: Factor) -> u64 {
        self.product(number, factor.odd)
    }

    /// The number that gives `number` when multiplied by `factor`.
    #[inline(always)]
    pub const fn divided(self, number: u64, factor: Factor) -> u64 {
        self.product(number, factor.inverse)
    }

    /// The product of two numbers, truncated to this width. There are special instructions for 32 bits.
    #[inline(always)]
    const fn product(self, number: u64, factor: u64) -> u64 {
        if self.0 == u32::BITS {
            (number as u32).wrapping_mul(factor as u32) as u64
        } else {
            self.cut(number.wrapping_mul(factor))
        }
    }

    /// Folds the upper half of a number onto the lower one. Folding twice gives the number back.
    #[inline(always)]
    pub const fn fold(self, number: u64) -> u64 {
        if self.0 == u32::BITS {
            (number as u32 ^ number as u32 >> 16) as u64
        } else {
            number ^ number >> (self.0 / 2)
        }
    }

    /// The lowest bits of a number, as many as this width has.
    #[inline(always)]
    pub const fn cut(self, number: u64) -> u64 {
        number & (u64::MAX >> (64 - self.0))
    }

    /// Spreads numbers, so that the highest bits of the results differ most for consecutive numbers. Zero
    /// stays zero.
    #[inline(always)]
    pub const fn spread(self, number: u64) -> u64 {
        // 2^width divided by the golden ratio does that best (Knuth, volume 3, section 6.4).
        self.product(number, 0x9E37_79B9_7F4A_7C15 >> (64 - self.0) | 1)
    }
}

/// An odd factor. Multiplication by it is invertible in every width.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    odd: u64,
    inverse: u64,
}

impl Factor {
    /// The factor with this value, which must be odd: an even one has no inverse.
    #[inline(always)]
    pub const fn new(odd: u64) -> Self {
        Self { odd, inverse: inverse(odd) }
    }
}

/// The number whose product with an odd number is 1. Three bits are right at first, and each step doubles
/// them.
#[inline(always)]
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}
