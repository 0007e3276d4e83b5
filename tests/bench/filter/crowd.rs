//! Who is a member and who is not: IPv4 addresses, each of another number.

use filterd_paper::hash::Choices;

/// The address of this number: the finaliser of MurmurHash3, which is a permutation.
pub const fn address(number: u32) -> u64 {
    let mixed = (number ^ number >> 16).wrapping_mul(0x85EB_CA6B);
    let mixed = (mixed ^ mixed >> 13).wrapping_mul(0xC2B2_AE35);
    (mixed ^ mixed >> 16) as u64
}

/// The first of the crowd.
pub fn members(count: u32) -> Vec<u64> {
    (0..count).map(address).collect()
}

/// So many others.
pub fn non_members(count: u32) -> impl Iterator<Item = u64> {
    (0..count).map(|number| address(u32::MAX - number))
}

/// So many in random order, of whom so many in a hundred are among the first `members`.
pub fn mixed(count: usize, members: u32, percent: u32) -> Vec<u64> {
    let mut choices = Choices::default();
    let one = |choices: &mut Choices| match choices.below(100) < percent {
        true => address(choices.below(members)),
        false => address(u32::MAX - choices.below(u32::MAX - members)),
    };
    (0..count).map(|_| one(&mut choices)).collect()
}
