//! Tests how much memory labels take. They take a byte a slot, so the result depends on how full tables are.

use std::ops::RangeInclusive;

use super::*;

/// From this size on the labels of the stash are a small part.
const MANY: u64 = 100_000;

/// Each table size from `MANY` entries on, with the fewest entries for which it is chosen.
fn sizes<K: Kind>() -> impl Iterator<Item = (Geometry, u64)> {
    let made_for = |entries: &u64| K::geometry_for(*entries).expect("there is one");
    let next = move |fewest: &u64| {
        let geometry = made_for(fewest);
        let (mut fewest, mut more) = (*fewest, geometry.limit() + 1);
        if more > K::most() {
            return None;
        }
        while fewest + 1 < more {
            let half = fewest.midpoint(more);
            if made_for(&half) == geometry { fewest = half } else { more = half }
        }
        Some(more)
    };
    std::iter::successors(Some(MANY), next).map(move |fewest| (made_for(&fewest), fewest))
}

fn labels(geometry: Geometry) -> u64 {
    8 * u64::from(size::labels_beside(geometry))
}

/// Ranges of entries for which a table made at once has more than 1.2 bytes of labels an entry.
fn spacious<K: Kind>() -> Vec<RangeInclusive<u64>> {
    let few = sizes::<K>().map(|(geometry, fewest)| fewest..=(10 * labels(geometry) - 1) / 12);
    few.filter(|range| !range.is_empty()).collect()
}

fn are_small_at_the_limit_and_after_growth<K: Kind>() {
    let mut counted = 0;
    for (geometry, _) in sizes::<K>() {
        let limit = geometry.limit();
        assert!(10 * labels(geometry) <= 12 * limit, "{geometry:?} at its limit");
        if let Ok(larger) = K::grown(limit, limit + 1) {
            assert!(
                10 * labels(larger) <= 24 * (limit + 1),
                "{larger:?}, which took the place of {geometry:?}"
            );
        }
        counted += 1;
    }
    assert!(counted > 500, "only {counted} sizes");
}

#[test]
fn labels_are_small_at_limit_and_after_growth() {
    are_small_at_the_limit_and_after_growth::<AddressTable>();
    are_small_at_the_limit_and_after_growth::<SixTable>();
}

/// The first sizes with lanes of 16 and of 12 bits are the smallest that can have such lanes. For the fewest
/// entries that they are made for, they take 1.5 and 1.34 bytes an entry.
#[test]
fn labels_are_large_only_after_lane_changes() {
    assert_eq!(spacious::<AddressTable>(), [349_570..=440_319, 7_826_249..=8_741_546]);
    assert_eq!(spacious::<SixTable>(), []);
}
