//! Numbers of one width, their products, and what undoes these.

/// A width of numbers in bits: from 2 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width(u32);

impl Width {
    /// This many bits.
    #[inline(always)]
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// How many bits.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// `number` times `factor`, as far as that fits into this width.
    #[inline(always)]
    pub const fn times(self, number: u64, factor: Factor) -> u64 {
        self.product(number, factor.odd)
    }

    /// What gives `number` when it is multiplied by `factor`.
    #[inline(always)]
    pub const fn divided(self, number: u64, factor: Factor) -> u64 {
        self.product(number, factor.inverse)
    }

    /// The product of two numbers, as far as it fits into this width. 32 bits have instructions of their own.
    #[inline(always)]
    const fn product(self, number: u64, factor: u64) -> u64 {
        if self.0 == u32::BITS {
            (number as u32).wrapping_mul(factor as u32) as u64
        } else {
            self.cut(number.wrapping_mul(factor))
        }
    }

    /// The number with its upper half folded onto its lower one. Folding again undoes it.
    #[inline(always)]
    pub const fn fold(self, number: u64) -> u64 {
        if self.0 == u32::BITS {
            (number as u32 ^ number as u32 >> 16) as u64
        } else {
            number ^ number >> (self.0 / 2)
        }
    }

    /// As many of the lowest bits of a number as this width has.
    #[inline(always)]
    pub const fn cut(self, number: u64) -> u64 {
        number & (u64::MAX >> (64 - self.0))
    }

    /// Spreads numbers: the highest bits of what comes out differ most for numbers in a row. Zero goes to zero.
    #[inline(always)]
    pub const fn spread(self, number: u64) -> u64 {
        // 2^width divided by the golden ratio does that best (Knuth, volume 3, section 6.4).
        self.product(number, 0x9E37_79B9_7F4A_7C15 >> (64 - self.0) | 1)
    }
}

/// An odd factor: multiplying by it can be undone in every width.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    odd: u64,
    inverse: u64,
}

impl Factor {
    /// This one; an even one could not be undone.
    #[inline(always)]
    pub const fn new(odd: u64) -> Self {
        Self { odd, inverse: inverse(odd) }
    }
}

/// What an odd number must be multiplied by to give 1. Each step doubles the bits that are right, three at first.
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
