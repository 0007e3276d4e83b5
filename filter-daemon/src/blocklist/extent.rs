//! How much of a prefix is dropped: the blocked part without the allowed part.

use filter_common::sets::SetName;
use filter_common::target::Target;

use super::{Blocklist, Side};

/// The dropped part of a target, as ranges of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DroppedRanges {
    /// Sorted; no two are adjacent.
    dropped: Vec<Range>,
    whole: Option<Range>,
    /// True if every entry within the target was read.
    pub is_complete: bool,
}

/// The first and the last address, as numbers in both families.
type Range = (u128, u128);

impl DroppedRanges {
    pub fn is_whole(&self) -> bool {
        self.whole.is_some_and(|whole| self.dropped == [whole])
    }

    pub fn is_nothing(&self) -> bool {
        self.dropped.is_empty()
    }

    /// True if `other` contains everything that is dropped of it. False if not all of it was read.
    pub fn is_within(&self, other: &Self) -> bool {
        self.is_complete && without(&self.dropped, &other.dropped).is_empty()
    }

    /// Up to `most` addresses at which the state changes, from both sides, each with whether it is dropped.
    pub fn edges(&self, most: usize) -> Vec<(u128, bool)> {
        let Some((first, last)) = self.whole else { return Vec::new() };
        let is_dropped =
            |address: u128| self.dropped.iter().any(|(from, to)| (*from..=*to).contains(&address));
        let ends = [first, last].map(|address| (address, is_dropped(address)));
        let edges = self.dropped.iter().take(most).flat_map(|(from, to)| {
            let before = (*from > first).then(|| (from - 1, false));
            let behind = (*to < last).then(|| (to + 1, false));
            [before, Some((*from, true)), Some((*to, true)), behind]
        });
        ends.into_iter().chain(edges.flatten()).take(most).collect()
    }
}

impl Blocklist {
    /// How much of `target` this set drops, on its ports. It reads at most `left` entries within the
    /// target, and subtracts them from `left`.
    pub fn extent(&self, set: SetName, target: Target, left: &mut usize) -> DroppedRanges {
        let (blocked, is_complete) = ranges(self.side(set), target, left);
        let (allowed, is_all) =
            if blocked.is_empty() { (Vec::new(), true) } else { ranges(self.allow(), target, left) };
        let dropped = without(&blocked, &allowed);
        DroppedRanges { dropped, whole: Some(range(target)), is_complete: is_complete && is_all }
    }
}

/// The entries of a side within `target`, sorted and joined, and whether these are all.
fn ranges(side: &Side, target: Target, left: &mut usize) -> (Vec<Range>, bool) {
    if side.covers(target) {
        return (vec![range(target)], true);
    }
    let mut within: Vec<_> = side.all_within(target).take(*left).map(|(one, _)| range(one)).collect();
    *left -= within.len();
    let is_complete = *left > 0 || side.all_within(target).nth(within.len()).is_none();
    within.sort_unstable();
    (joined(within), is_complete)
}

/// Joins sorted ranges that overlap or are adjacent.
fn joined(ranges: Vec<Range>) -> Vec<Range> {
    let mut all: Vec<Range> = Vec::new();
    for (first, last) in ranges {
        match all.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            Some(_) | None => all.push((first, last)),
        }
    }
    all
}

/// The part of `ranges` outside `others`. Both must be joined.
fn without(ranges: &[Range], others: &[Range]) -> Vec<Range> {
    let mut left = Vec::new();
    for &(first, last) in ranges {
        let mut from = Some(first);
        let begin = others.partition_point(|(_, end)| *end < first);
        for &(begins, ends) in others[begin..].iter().take_while(|(begins, _)| *begins <= last) {
            left.extend(from.filter(|from| *from < begins).map(|from| (from, begins - 1)));
            from = ends.checked_add(1).filter(|from| *from <= last);
        }
        left.extend(from.map(|from| (from, last)));
    }
    left
}

fn range(target: Target) -> Range {
    match target {
        Target::V4(prefix) => (prefix.first().into(), prefix.last().into()),
        Target::V6(prefix) => (prefix.first(), prefix.last()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::{Change, Polarity, Timestamp, Want};
    use super::*;

    fn blocklist(blocked: &[Target], allowed: &[Target]) -> Blocklist {
        let mut blocklist = Blocklist::default();
        for (polarity, targets) in [(Polarity::Block, blocked), (Polarity::Allow, allowed)] {
            let name = if polarity == Polarity::Block { "manual" } else { "manual-allow" };
            let want = Want::live(name, polarity, targets.iter().copied().collect());
            blocklist.apply(&Change::Want(want), Timestamp::from_secs(1)).unwrap();
        }
        blocklist
    }

    fn prefix() -> impl Strategy<Value = Target> {
        let v4 = (24..=32u8, any::<u8>()).prop_map(|(length, low)| {
            let address = u32::from_be_bytes([10, 0, 0, low]);
            Target::V4(filter_common::target::Prefix::covering(address, length))
        });
        let v6 = (120..=128u8, any::<u8>()).prop_map(|(length, low)| {
            Target::V6(filter_common::target::Prefix::covering(u128::MAX - 255 + u128::from(low), length))
        });
        prop_oneof![v4, v6]
    }

    fn some() -> impl Strategy<Value = Vec<Target>> {
        prop::collection::vec(prefix(), 0..12)
    }

    fn addresses(target: Target) -> BTreeSet<u128> {
        let (first, last) = range(target);
        (first..=last).collect()
    }

    proptest! {
        #[test]
        fn dropped_is_blocked_minus_allowed(
            (blocked, allowed, asked) in (some(), some(), prefix())
        ) {
            let extent = blocklist(&blocked, &allowed).extent(SetName::Block, asked, &mut 10_000);
            let is_in = |all: &[Target], address: u128| {
                let is_of_family = |one: &Target| matches!((one, asked), (Target::V4(_), Target::V4(_)) | (Target::V6(_), Target::V6(_)));
                all.iter().filter(|one| is_of_family(one)).any(|one| addresses(*one).contains(&address))
            };
            let all = addresses(asked);
            let dropped: BTreeSet<_> =
                all.iter().copied().filter(|one| is_in(&blocked, *one) && !is_in(&allowed, *one)).collect();
            let told: BTreeSet<_> = extent.dropped.iter().flat_map(|(first, last)| *first..=*last).collect();
            prop_assert_eq!(&told, &dropped);
            prop_assert!(extent.is_complete);
            prop_assert_eq!(extent.is_whole(), dropped.len() == all.len());
            prop_assert_eq!(extent.is_nothing(), dropped.is_empty());
            for (address, is_dropped) in extent.edges(1000) {
                prop_assert_eq!(dropped.contains(&address), is_dropped);
            }
        }
    }

    #[test]
    fn incomplete_answer_is_marked() {
        let target = |word: &str| word.parse::<Target>().unwrap();
        let blocked = ["10.0.0.1", "10.0.0.3", "10.0.0.5"].map(target);
        let blocklist = blocklist(&blocked, &[]);
        let mut left = 3;
        assert!(blocklist.extent(SetName::Block, target("10.0.0.0/24"), &mut left).is_complete);
        assert_eq!(left, 0);
        assert!(!blocklist.extent(SetName::Block, target("10.0.0.0/24"), &mut 2).is_complete);
        assert!(
            blocklist.extent(SetName::Block, target("10.0.0.1"), &mut 0).is_whole(),
            "that takes no looking within"
        );
    }
}
