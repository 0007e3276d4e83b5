//! The whole decision about a packet: who sent it, is that source in the set to block, and what follows from a hit.

use crate::hash::Address6;
use crate::labels::Counted;
use crate::packet::{self, Again6, Frame, Source};
use crate::reason::{Enforcement, Reason, Verdict};
use crate::set::{self, Found4, Found6, Set};

/// Everything a judge looks things up in: a view for each set, and what holds for all of them.
///
/// What blocks and what allows are two sets of the same type, each with a block of settings and maps of its own.
pub trait Tables {
    /// Are packets dropped, or only counted as those that would be?
    fn enforcement(&self) -> Enforcement;

    /// The sources to block.
    fn block(&self) -> impl Set;

    /// The sources to allow, whatever blocks them.
    fn allow(&self) -> impl Set;

    /// May a source be in both? One word tells, so that a hit pays for the other lookup only where there is reason to.
    fn may_overlap(&self) -> bool;

    /// Is this IPv4 address allowed? Asked of one that is blocked.
    #[inline(always)]
    fn allows4(&self, address: u32) -> bool {
        set::find4(&self.allow(), address).is_some()
    }

    /// The same of an IPv6 address.
    #[inline(always)]
    fn allows6(&self, address: Address6) -> bool {
        set::find6(&self.allow(), address).is_some()
    }

    /// Counts a packet from a source that is held so for its list. No verdict depends on it.
    #[inline(always)]
    fn count4(&self, _found: Found4, _counted: Counted) {}

    /// The same of an IPv6 address.
    #[inline(always)]
    fn count6(&self, _address: Address6, _found: Found6, _counted: Counted) {}

    /// The same of one that cannot be read any more.
    #[inline(always)]
    fn count_other(&self, _counted: Counted) {}

    /// What follows when the set to block holds an IPv4 source so. A program does it in a function of its own, which its verifier
    /// walks once, whatever led to it.
    #[inline(always)]
    fn follow4(&self, found: Found4) -> Reason
    where
        Self: Sized,
    {
        follow4(found, self)
    }

    /// The same of an IPv6 source. What else is in its packet is asked only here.
    #[inline(always)]
    fn follow6(&self, found: Found6, packet: impl FnOnce() -> Option<Again6>) -> Reason
    where
        Self: Sized,
    {
        follow6(found, packet(), self)
    }

    /// Does the frame that is judged pass because this host began what it is part of? Asked of one that is to be dropped
    /// for its source. Only a program in the kernel knows; whoever asks elsewhere asks about a source alone.
    #[inline(always)]
    fn is_reply(&self) -> bool {
        false
    }
}

/// What becomes of `frame`? What else is in it is asked after a hit only.
#[inline(always)]
pub fn judge(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Verdict {
    match packet::source(frame) {
        // What a hit needs is read once more, so that a miss need not keep it.
        Source::V6(address) => match set::find6(&tables.block(), address) {
            None => Reason::Unlisted,
            Some(found) => tables.follow6(found, || packet::again6(frame)),
        }
        .verdict(),
        source @ (Source::V4(_) | Source::NotIp | Source::Malformed | Source::TooManyTags) => {
            judge_source(source, tables)
        }
    }
}

/// What becomes of a frame from `source`, whatever else is in it? `filterd test` asks this, so all that follows from the
/// source alone belongs here.
///
/// A word of the set to block is always loaded before one of the set to allow. So whoever allows a source before it is
/// blocked, and no longer blocks it before it is no longer allowed, has no packet of it dropped (where loads and stores
/// are seen in order).
#[inline(always)]
pub fn judge_source(source: Source, tables: &impl Tables) -> Verdict {
    let reason = match source {
        Source::V4(address) => match set::find4(&tables.block(), address) {
            None => Reason::Unlisted,
            Some(found) => tables.follow4(found),
        },
        Source::V6(source) => match set::find6(&tables.block(), source) {
            None => Reason::Unlisted,
            Some(found) => tables.follow6(found, || Some(Again6 { source, is_neighbour_discovery: false })),
        },
        Source::NotIp => Reason::NotIp,
        Source::Malformed => Reason::Malformed,
        Source::TooManyTags => Reason::TooManyTags,
    };
    reason.verdict()
}

/// What follows when the set to block holds a source: is it allowed, and if not, for which list does it count?
#[inline(always)]
pub fn follow4(found: Found4, tables: &impl Tables) -> Reason {
    if tables.may_overlap() && tables.allows4(found.address(&tables.block())) {
        return Reason::Allowed;
    }
    let (reason, counted) = unless_reply(found.reason(), tables);
    tables.count4(found, counted);
    reason
}

/// Why a packet from a blocked source is dropped or passes, and as what it counts for a list.
#[inline(always)]
fn unless_reply(found: Reason, tables: &impl Tables) -> (Reason, Counted) {
    if tables.is_reply() {
        (Reason::Reply, Counted::Reply)
    } else {
        (found, Counted::of_drop(tables.enforcement()))
    }
}

/// The same for IPv6. There may be nothing to read any more.
#[inline(always)]
pub fn follow6(found: Found6, packet: Option<Again6>, tables: &impl Tables) -> Reason {
    let Some(Again6 { source, is_neighbour_discovery }) = packet else {
        tables.count_other(Counted::of_drop(tables.enforcement()));
        return found.reason();
    };
    if tables.may_overlap() && tables.allows6(source) {
        return Reason::Allowed;
    }
    if is_neighbour_discovery {
        return Reason::Neighbour;
    }
    let (reason, counted) = unless_reply(found.reason(), tables);
    tables.count6(source, found, counted);
    reason
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks;
    use crate::set::View;
    use crate::settings::SetSettings;
    use core::cell::Cell;
    use std::{vec, vec::Vec};

    /// Two sets, each a value of the same type.
    struct TwoSets {
        settings: [SetSettings; 2],
        networks: [Vec<Cell<u64>>; 2],
        may_overlap: Cell<bool>,
        /// How often the set to allow was looked into.
        asked: Cell<u32>,
    }

    impl TwoSets {
        /// What blocks is the first, what allows the second.
        fn of(slash24s: [&[u32]; 2]) -> Self {
            let networks = slash24s.map(|slash24s| {
                let words = vec![Cell::new(0); networks::WORDS as usize];
                slash24s.iter().for_each(|slash24| networks::set(&words[..], *slash24, 1, |_| u64::MAX));
                words
            });
            let settings = [SetSettings { networks4: 1, ..SetSettings::OFF }; 2];
            Self { settings, networks, may_overlap: Cell::new(true), asked: Cell::new(0) }
        }

        fn view(&self, number: usize) -> View<'_, &[Cell<u64>]> {
            let settings = &self.settings[number];
            View {
                settings,
                addresses: None,
                networks: Some(&self.networks[number][..]),
                levels: None,
                six: None,
            }
        }
    }

    impl Tables for TwoSets {
        fn enforcement(&self) -> Enforcement {
            Enforcement::Drop
        }

        fn block(&self) -> impl Set {
            self.view(0)
        }

        fn allow(&self) -> impl Set {
            self.asked.set(self.asked.get() + 1);
            self.view(1)
        }

        fn may_overlap(&self) -> bool {
            self.may_overlap.get()
        }
    }

    #[test]
    fn what_is_in_both_sets_is_allowed() {
        let tables = TwoSets::of([&[0x0A_0102, 0x0A_0103], &[0x0A_0103, 0x0A_0104]]);
        let verdict = |address| judge_source(Source::V4(address), &tables);
        assert_eq!(verdict(0x0A01_0207), Verdict::Drop(Reason::Network4));
        assert_eq!(verdict(0x0A01_0307), Verdict::Pass(Reason::Allowed));
        assert_eq!(verdict(0x0A01_0407), Verdict::Pass(Reason::Unlisted), "nobody blocks it");
    }

    #[test]
    fn what_allows_is_asked_on_a_hit_only_and_only_while_the_sets_may_overlap() {
        let tables = TwoSets::of([&[0x0A_0102], &[0x0A_0102, 0x0A_0103]]);
        let asked = |address| {
            let before = tables.asked.get();
            let verdict = judge_source(Source::V4(address), &tables);
            (verdict.reason(), tables.asked.get() - before)
        };
        assert_eq!(asked(0x0A01_0307), (Reason::Unlisted, 0));
        assert_eq!(asked(0x0A01_0207), (Reason::Allowed, 1));
        tables.may_overlap.set(false);
        assert_eq!(asked(0x0A01_0207), (Reason::Network4, 0));
    }

    #[test]
    fn what_is_switched_off_is_not_looked_up() {
        let mut tables = TwoSets::of([&[0x0A_0102], &[0x0A_0102]]);
        tables.settings[1] = SetSettings::OFF;
        assert_eq!(judge_source(Source::V4(0x0A01_0207), &tables), Verdict::Drop(Reason::Network4));
        tables.settings[0] = SetSettings::OFF;
        assert_eq!(judge_source(Source::V4(0x0A01_0207), &tables), Verdict::Pass(Reason::Unlisted));
    }
}
