//! The deadlines of entries, in the order of time.

use std::collections::BTreeSet;
use std::iter;
use std::ops::Bound::{Excluded, Included, Unbounded};

use filter_common::target::{Prefix, Target};

use super::{ListId, Timestamp};

/// Deadlines of entries. Single IPv4 addresses are stored more compactly.
#[derive(Debug, Default)]
pub struct Deadlines {
    addresses: BTreeSet<(Timestamp, u32, ListId)>,
    others: BTreeSet<(Timestamp, Target, ListId)>,
}

impl Deadlines {
    /// Adds the deadline of `target` on `list`.
    pub fn set(&mut self, until: Timestamp, target: Target, list: ListId) {
        match target {
            Target::V4(prefix) if prefix.is_host() => {
                _ = self.addresses.insert((until, prefix.address(), list))
            }
            Target::V4(_) | Target::V6(_) => _ = self.others.insert((until, target, list)),
        }
    }

    pub fn clear(&mut self, until: Timestamp, target: Target, list: ListId) {
        match target {
            Target::V4(prefix) if prefix.is_host() => {
                _ = self.addresses.remove(&(until, prefix.address(), list))
            }
            Target::V4(_) | Target::V6(_) => _ = self.others.remove(&(until, target, list)),
        }
    }

    /// The first entry that has expired at `now`.
    pub fn first_over(&self, now: Timestamp) -> Option<(Target, ListId)> {
        let address = self.addresses.first().filter(|(until, ..)| *until <= now);
        let other = self.others.first().filter(|(until, ..)| *until <= now);
        address
            .map(|(_, address, list)| (Target::V4(Prefix::host(*address)), *list))
            .or_else(|| other.map(|(_, target, list)| (*target, *list)))
    }

    /// The entries that expire up to `by`, ordered by time and then by target. It starts after the last
    /// target of the previous page, and reads no more than the caller takes.
    pub fn behind(
        &self,
        after: Option<(Timestamp, Target)>,
        by: Timestamp,
    ) -> impl Iterator<Item = (Timestamp, Target, ListId)> + '_ {
        let first = Included((Timestamp::default(), 0, ListId::FIRST));
        let addresses = match after {
            None => first,
            Some((then, Target::V4(prefix))) => Included((then, prefix.first(), ListId::FIRST)),
            Some((then, Target::V6(_))) => Excluded((then, u32::MAX, ListId::LAST)),
        };
        let others = after.map_or(Unbounded, |(then, target)| Excluded((then, target, ListId::LAST)));
        let addresses = self.addresses.range((addresses, Unbounded));
        let addresses =
            addresses.map(|(then, address, list)| (*then, Target::V4(Prefix::host(*address)), *list));
        // Several targets of one time may share a first address; those up to the last one are skipped.
        let addresses = addresses.skip_while(move |(then, target, _)| after >= Some((*then, *target)));
        let mut one = addresses.peekable();
        let mut other = self.others.range((others, Unbounded)).copied().peekable();
        let merged = iter::from_fn(move || match (one.peek(), other.peek()) {
            (Some(first), Some(second)) if first < second => one.next(),
            (Some(_), None) => one.next(),
            _ => other.next(),
        });
        merged.take_while(move |(then, ..)| *then <= by)
    }

    /// The time of the next deadline.
    pub fn next(&self) -> Option<Timestamp> {
        let address = self.addresses.first().map(|(until, ..)| *until);
        let other = self.others.first().map(|(until, ..)| *until);
        address.into_iter().chain(other).min()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target() -> impl Strategy<Value = Target> {
        const WORDS: [&str; 8] = [
            "10.0.0.0",
            "10.0.0.0/8",
            "10.0.0.0/31",
            "10.0.0.1",
            "255.255.255.255",
            "::/0",
            "2001:db8::/64",
            "::1",
        ];
        prop::sample::select(&WORDS[..]).prop_map(|word| word.parse().unwrap())
    }

    proptest! {
        #[test]
        fn expiry_pages_are_ordered_and_complete(
            all in prop::collection::btree_set((1..5u32, target(), 0..3usize), 0..40),
            by in 0..6u32,
            page in 1..5usize,
        ) {
            let lists = [ListId::FIRST, ListId::LAST, ListId::LAST];
            let all: BTreeSet<_> =
                all.into_iter().map(|(then, target, list)| (Timestamp::from_secs(then), target, lists[list])).collect();
            let (mut deadlines, by) = (Deadlines::default(), Timestamp::from_secs(by));
            all.iter().for_each(|(then, target, list)| deadlines.set(*then, *target, *list));
            let expected: Vec<_> = all.into_iter().filter(|(then, ..)| *then <= by).collect();
            let (mut told, mut after) = (Vec::new(), None);
            loop {
                // Pages contain whole targets.
                let mut next: Vec<_> = deadlines.behind(after, by).take(page).collect();
                let Some((then, target, _)) = next.last().copied() else { break };
                next.extend(deadlines.behind(after, by).skip(page).take_while(|(t, other, _)| (*t, *other) == (then, target)));
                told.extend(next);
                after = Some((then, target));
            }
            prop_assert_eq!(told, expected);
        }
    }

    #[test]
    fn only_requested_deadlines_are_read() {
        let mut deadlines = Deadlines::default();
        for number in 0..1_000_000_u32 {
            deadlines.set(
                Timestamp::from_secs(1000 + number),
                Target::V4(Prefix::host(number)),
                ListId::FIRST,
            );
        }
        // An iterator reads exactly what it returns.
        assert_eq!(deadlines.behind(None, Timestamp::from_secs(1009)).count(), 10);
        let after = Some((Timestamp::from_secs(500_000), Target::V4(Prefix::host(499_000))));
        let mut behind = deadlines.behind(after, Timestamp::from_secs(u32::MAX));
        assert_eq!(behind.next().map(|(then, ..)| then.secs()), Some(500_001));
        assert_eq!(deadlines.first_over(Timestamp::from_secs(999)), None);
    }
}
