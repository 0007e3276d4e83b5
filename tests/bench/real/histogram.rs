//! How many prefixes of each length real lists have.
//!
//! Counted are those of all countries' lists of one day, and of them the lengths that are marked. The others are
//! assumed, such that they sum up to what was counted of all of them together.

/// Of so many bits there are so many.
pub type Count = (u8, u32);

/// IPv6, 73,731 of 37 lengths.
pub const SIX: [Count; 37] = [
    // Assumed, 362 of them.
    (13, 1),
    (15, 1),
    (16, 4),
    (17, 1),
    (18, 2),
    (19, 13),
    (20, 75),
    (21, 40),
    (22, 60),
    (23, 45),
    (24, 120),
    // Assumed; together they are 1,448 with those above, and as /28s some 2,075, as a sample of the list told.
    (25, 56),
    (26, 130),
    (27, 200),
    (28, 700),
    // Counted; of /30 and /31 only the sum.
    (29, 16_989),
    (30, 1_489),
    (31, 1_200),
    (32, 32_574),
    // Counted are /36, /40, /44 and /48. The others are assumed; below /32 there are 20,031 prefixes, which are 25,500
    // when all lengths in between are told by those four and 52, 56, 60 and 64.
    (33, 217),
    (34, 200),
    (35, 250),
    (36, 1_643),
    (37, 60),
    (38, 130),
    (39, 120),
    (40, 1_755),
    (41, 40),
    (42, 170),
    (43, 110),
    (44, 1_154),
    (45, 100),
    (46, 140),
    (47, 150),
    (48, 13_746),
    (56, 16),
    (64, 30),
];

/// IPv4, 172,627 of 25 lengths.
pub const FOUR: [Count; 25] = [
    // Assumed: of all lengths that are not marked as counted, 8,935 together.
    (8, 30),
    (9, 15),
    (10, 40),
    (11, 100),
    (12, 200),
    (13, 330),
    (14, 600),
    (15, 900),
    // Counted but for /17.
    (16, 6_911),
    (17, 3_000),
    (18, 5_327),
    (19, 9_946),
    (20, 11_710),
    (21, 16_787),
    (22, 50_658),
    (23, 23_791),
    (24, 38_562),
    // Assumed.
    (25, 400),
    (26, 500),
    (27, 500),
    (28, 700),
    (29, 800),
    (30, 200),
    (31, 20),
    (32, 600),
];

/// Lists of attackers: addresses, /24s, and a few wide ones that nobody should send from. All of it is assumed, in the
/// proportions of FireHOL's larger lists.
pub const NETSET: [Count; 13] = [
    (3, 1),
    (8, 3),
    (16, 30),
    (17, 20),
    (18, 30),
    (19, 60),
    (20, 90),
    (21, 90),
    (22, 150),
    (23, 120),
    (24, 2_400),
    (29, 60),
    (32, 60_000),
];

/// How many prefixes these are.
#[must_use]
pub fn total(counts: &[Count]) -> u32 {
    counts.iter().map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(counts: &[Count], lengths: std::ops::RangeInclusive<u8>) -> Vec<Count> {
        counts.iter().copied().filter(|(length, _)| lengths.contains(length)).collect()
    }

    /// As so many of the next length that is told.
    fn told(counts: &[Count], by: &[u8]) -> u32 {
        let next = |length: u8| by.iter().copied().find(|&told| told >= length).unwrap_or(length);
        counts.iter().map(|&(length, count)| count << (next(length) - length)).sum()
    }

    #[test]
    fn sums_are_what_was_counted() {
        assert_eq!(total(&SIX), 73_731);
        assert_eq!(total(&within(&SIX, 30..=31)), 2_689);
        assert_eq!(total(&within(&SIX, 33..=64)), 20_031);
        assert_eq!(told(&within(&SIX, 33..=64), &[36, 40, 44, 48, 52, 56, 60, 64]), 25_500);
        assert_eq!(told(&within(&SIX, 25..=28), &[28]), 2_068);
        assert_eq!(total(&FOUR), 172_627);
    }
}
