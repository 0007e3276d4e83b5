//! Who is a member, and who is asked about.

use filterd_paper::hash::{Choices, key};

/// The key of the member of this number.
pub const fn member(number: u64) -> u64 {
    key(number)
}

/// The key of a non-member: no filter has so many members.
pub const fn non_member(number: u64) -> u64 {
    key(1 << 40 | number)
}

/// So many lookups in random order; so many in a hundred are about one of the first `members`.
pub fn lookups(count: usize, members: u64, percent: u32, choices: &mut Choices) -> Vec<u64> {
    let one = |choices: &mut Choices| {
        if choices.below(100) < percent {
            member(u64::from(choices.below(members as u32)))
        } else {
            non_member(u64::from(choices.below(u32::MAX)))
        }
    };
    (0..count).map(|_| one(choices)).collect()
}
