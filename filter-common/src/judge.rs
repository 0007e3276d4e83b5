//! The whole decision about a packet: who sent it, is that source in the set to block, and what follows from a hit.

use crate::packet::{self, Frame, Source};
use crate::reason::{Enforcement, Reason, Verdict};
use crate::set::{self, Set};

/// Everything a judge looks things up in: a view for each set, and what holds for all of them.
///
/// A set to allow would be one more method beside `block`, with the same type behind it: it has a block of settings and
/// maps of its own, and is asked in [`judge_source`] after a hit, so that a packet that is in no set never pays for it.
pub trait Tables {
    /// Are packets dropped, or only counted as those that would be?
    fn enforcement(&self) -> Enforcement;

    /// The sources to block.
    fn block(&self) -> impl Set;
}

/// What becomes of `frame`? What else is in it is asked after a hit only.
#[inline(always)]
pub fn judge(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Verdict {
    match judge_source(packet::source(frame), tables) {
        Verdict::Drop(Reason::Net64 | Reason::Other6) if packet::is_neighbour_discovery(frame) => {
            Reason::Neighbour.verdict()
        }
        verdict @ (Verdict::Pass(_) | Verdict::Drop(_)) => verdict,
    }
}

/// What becomes of a frame from `source`, whatever else is in it? `filterd test` asks this, so all that follows from the
/// source alone belongs here.
#[inline(always)]
pub fn judge_source(source: Source, tables: &impl Tables) -> Verdict {
    let reason = match source {
        Source::V4(address) => set::find4(&tables.block(), address).unwrap_or(Reason::Unlisted),
        Source::V6(address) => set::find6(&tables.block(), address).unwrap_or(Reason::Unlisted),
        Source::NotIp => Reason::NotIp,
        Source::Malformed => Reason::Malformed,
        Source::TooManyTags => Reason::TooManyTags,
    };
    reason.verdict()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks;
    use crate::set::View;
    use crate::settings::SetSettings;
    use core::cell::Cell;
    use std::{vec, vec::Vec};

    /// Two sets, each a value of the same type: what a set to allow would take beside the one to block.
    struct TwoSets {
        settings: [SetSettings; 2],
        networks: [Vec<Cell<u64>>; 2],
    }

    impl TwoSets {
        /// A set of a /24 each.
        fn of(slash24s: [u32; 2]) -> Self {
            let networks = slash24s.map(|slash24| {
                let words = vec![Cell::new(0); networks::WORDS as usize];
                networks::set(&words[..], slash24, 1, |_| u64::MAX);
                words
            });
            Self { settings: [SetSettings { networks4: 1, ..SetSettings::OFF }; 2], networks }
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
    }

    #[test]
    fn a_second_set_is_one_more_value_and_does_not_change_the_first() {
        let tables = TwoSets::of([0x0A_0102, 0x0A_0103]);
        let verdict = |address| judge_source(Source::V4(address), &tables);
        assert_eq!(verdict(0x0A01_0207), Verdict::Drop(Reason::Network4));
        assert_eq!(verdict(0x0A01_0307), Verdict::Pass(Reason::Unlisted));
        let second = tables.view(1);
        assert_eq!(set::find4(&second, 0x0A01_0307), Some(Reason::Network4));
        assert_eq!(set::find4(&second, 0x0A01_0207), None);
    }

    #[test]
    fn what_is_switched_off_is_not_looked_up() {
        let mut tables = TwoSets::of([0x0A_0102; 2]);
        tables.settings[0] = SetSettings::OFF;
        assert_eq!(judge_source(Source::V4(0x0A01_0207), &tables), Verdict::Pass(Reason::Unlisted));
    }
}
