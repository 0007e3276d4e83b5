//! One probe for each length in use: how filterd looked IPv6 prefixes up before it knew better, kept to compare with.
//!
//! Bucket and fingerprint of a prefix are hashes of it; the runner fills the table by the same functions.

/// A bucket has four words, each a fingerprint.
pub const BUCKET: u32 = 4;

/// So many lengths there may be.
pub const MOST: usize = 48;

/// Numbers like any other: nobody attacks a benchmark.
const KEYS: [[u64; 5]; 3] = [
    [
        0x40B2_D002_CC92_D33D,
        0x3283_3106_536E_95DF,
        0x3170_FAB2_3D90_FBAD,
        0xF08D_B22F_D293_056B,
        0x4AD5_CFBC_1D74_BD1D,
    ],
    [
        0xFFEC_3FEE_8ED2_305D,
        0x3CE1_268C_9C80_52E3,
        0x8E4E_DC90_253D_9E31,
        0xA93F_32A9_A172_5103,
        0x009F_0016_8028_9E33,
    ],
    [
        0xD5DE_6E91_0742_06E3,
        0x7F45_3A0E_F509_7B4F,
        0xCADD_40E9_2C34_BF1D,
        0x30F4_7F35_D038_0CFB,
        0xFF6A_F8AF_81DF_6383,
    ],
];
const SPREAD: u64 = 0xE703_7ED1_A0B4_28DB;

/// A prefix as the table knows it: where to begin, and what to look for.
#[derive(Clone, Copy)]
pub struct Fingerprint {
    place: u32,
    pub code: u64,
}

impl Fingerprint {
    /// Of the prefix whose length has this number; `high` and `low` have no bit beyond it.
    #[inline(always)]
    pub const fn of(high: u64, low: u64, number: u64) -> Self {
        let code = part(1, high, low, number) << 32 | part(2, high, low, number) | 1;
        Self { place: (part(0, high, low, number) as u32).wrapping_mul(code as u32), code }
    }

    /// The two buckets of a table of `2^bits`.
    #[inline(always)]
    pub const fn buckets(self, bits: u32) -> [u32; 2] {
        let first = self.place >> (32 - bits);
        [first, across(first, self.code, bits)]
    }
}

/// The other bucket of a fingerprint.
#[inline(always)]
pub const fn across(bucket: u32, code: u64, bits: u32) -> u32 {
    bucket ^ (code.wrapping_mul(SPREAD) >> (64 - bits)) as u32
}

#[inline(always)]
const fn part(at: usize, high: u64, low: u64, number: u64) -> u64 {
    let [first, second, third, fourth, salt] = KEYS[at];
    let sum = product(first, second, high).wrapping_add(product(third, fourth, low));
    sum.wrapping_add(salt.wrapping_mul(number + 1)) >> 32
}

#[inline(always)]
const fn product(first: u64, second: u64, word: u64) -> u64 {
    first.wrapping_add(word & 0xFFFF_FFFF).wrapping_mul(second.wrapping_add(word >> 32))
}
