//! The blocks that registries hand IPv6 addresses out of, and what share of all prefixes each has.
//!
//! The blocks are IANA's. How far each is used is assumed, 71 /16s together, as was counted; so are the shares.

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The first of its /16s, and how many it uses.
    pub first: u16,
    pub pages: u16,
    pub shares: Shares,
}

/// In a hundred of all prefixes.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Up to /15.
    pub widest: u64,
    /// /16 to /28.
    pub wide: u64,
    /// /29, which one of the registries gives to everybody.
    pub net29: u64,
    /// /30 to /32.
    pub net32: u64,
    /// Longer ones.
    pub deep: u64,
}

pub const REGIONS: [Region; 7] = [
    // ARIN, and where it keeps small ones. The widest of all is a ministry's.
    region(0x2600, 16, [100, 8, 1, 12, 8]),
    region(0x2620, 2, [0, 0, 0, 0, 16]),
    // RIPE NCC
    region(0x2A00, 21, [0, 40, 94, 20, 34]),
    // APNIC
    region(0x2400, 16, [0, 38, 3, 26, 28]),
    // LACNIC
    region(0x2800, 12, [0, 9, 1, 37, 4]),
    // AFRINIC
    region(0x2C0E, 2, [0, 3, 0, 3, 4]),
    // All of them, in the first years
    region(0x2001, 2, [0, 2, 1, 2, 6]),
];

const fn region(first: u16, pages: u16, [widest, wide, net29, net32, deep]: [u64; 5]) -> Region {
    Region { first, pages, shares: Shares { widest, wide, net29, net32, deep } }
}

impl Region {
    /// The first of its /24s, and how many there are.
    pub fn slash24s(&self) -> std::ops::Range<u32> {
        let first = u32::from(self.first) << 8;
        first..first + (u32::from(self.pages) << 8)
    }
}

impl Shares {
    /// Of prefixes of this length.
    pub const fn of(&self, length: u8) -> u64 {
        match length {
            0..=15 => self.widest,
            16..=28 => self.wide,
            29 => self.net29,
            30..=32 => self.net32,
            _ => self.deep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_make_a_whole() {
        for length in [13, 24, 29, 32, 48] {
            assert_eq!(REGIONS.iter().map(|region| region.shares.of(length)).sum::<u64>(), 100, "/{length}");
        }
        assert_eq!(REGIONS.iter().map(|region| region.pages).sum::<u16>(), 71);
    }
}
