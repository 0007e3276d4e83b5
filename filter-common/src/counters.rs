//! Where packets are counted: the layout of the one map of counters, in words of 64 bits.
//!
//! Of each processor there is a row. It begins with a counter for each outcome, of which those of packets that pass are used.
//! Then come the slots: of what is to be dropped, packets and bytes of each outcome. An interface has a slot, whose number
//! stands behind the rows in a byte at the interface's own number. Behind these is a directory: whose each slot is.
//!
//! So a packet that passes is counted as if there were no slots, and the sum over all slots is what was to be dropped.

use crate::reason::{COUNTERS, Outcome, Reason, UNUSED, Verdict};
use crate::sampling;

/// The words of a processor's row: a power of two, so that finding it is a shift.
pub const ROW: u32 = 1 << 11;

/// Where in a row the state of sampling is ([`sampling::at`](crate::sampling::at)): in counters of which there are no outcomes.
pub const SAMPLING: u32 = COUNTERS - 16;

const _: () = assert!(
    SAMPLING >= UNUSED && SAMPLING + sampling::WORDS <= COUNTERS,
    "the state of sampling would share the counters of outcomes"
);

/// How many slots there are.
pub const SLOTS: u32 = 30;

/// The slot of every interface that has none of its own.
pub const OTHER: u32 = 0;

/// The slot in which is kept what was counted for interfaces whose slots others have by now. No packet counts here.
pub const GONE: u32 = SLOTS - 1;

/// Interfaces with numbers below this may have a slot of their own.
pub const NUMBERED: u32 = 1 << 16;

/// The words in which the slot of each of them is a byte.
pub const NUMBERS: u32 = NUMBERED / 8;

/// The words of a slot in the directory: the number of its interface, two of its name, and since when it has counted.
pub const ENTRY: u32 = 4;

/// The words of the directory.
pub const DIRECTORY: u32 = SLOTS * ENTRY;

/// The words of a slot: packets and bytes of each outcome that is a drop, or would be one.
pub const SLOT: u32 = (ROW - COUNTERS) / SLOTS;

/// A slot has counters for reasons to drop with the numbers from [`FIRST`] on, so many of them.
const REASONS: u32 = 8;

/// The lowest number of a reason to drop.
const FIRST: u32 = 3;

/// Each reason to drop has counters for as many [enforcements](crate::reason::Enforcement).
const ENFORCEMENTS: u32 = 3;

const _: () = {
    let mut number = 0;
    while number < Reason::ALL.len() {
        assert!(
            has_room(Reason::ALL[number]),
            "a reason to drop would share the counters of another one: `drop_number` must give it a place of its own"
        );
        number += 1;
    }
    assert!(2 * ENFORCEMENTS * REASONS <= SLOT, "a slot has too few words for so many reasons to drop");
};

/// Packets that pass need no counters in a slot.
const fn has_room(reason: Reason) -> bool {
    match reason.verdict() {
        Verdict::Pass(_) => true,
        Verdict::Drop(reason) => FIRST <= reason as u32 && (reason as u32) < FIRST + REASONS,
    }
}

/// How many words the map has, with so many rows.
#[must_use]
pub const fn words(rows: u32) -> u32 {
    rows * ROW + NUMBERS + DIRECTORY
}

/// Which counters of a slot are those of this outcome; none of a packet that passes as it should.
#[inline(always)]
#[must_use]
pub const fn drop_number(outcome: Outcome) -> Option<u32> {
    let enforcement = match outcome {
        Outcome::Pass(_) => return None,
        Outcome::Drop(_) => 0,
        Outcome::WouldDrop(_) => 1,
        Outcome::Paused(_) => 2,
    };
    Some(enforcement * REASONS + (outcome.reason() as u32).wrapping_sub(FIRST) % REASONS)
}

/// Where in a row the packets of a drop are counted; its bytes are behind them. Whatever the numbers are, it is in the row.
#[inline(always)]
#[must_use]
pub const fn place(slot: u32, drop_number: u32) -> u32 {
    (COUNTERS + slot % (SLOTS + 2) * SLOT) % ROW + 2 * (drop_number % (SLOT / 2))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_counter_has_words_of_its_own() {
        let drops: BTreeSet<u32> = Outcome::all().filter_map(drop_number).collect();
        assert_eq!(
            drops.len(),
            Outcome::all().filter(|outcome| !matches!(outcome, Outcome::Pass(_))).count()
        );
        let mut words: BTreeSet<u32> = Outcome::all().map(Outcome::counter).collect();
        words.extend((0..sampling::WORDS).map(|word| SAMPLING + word));
        let passes = words.len();
        assert_eq!(passes, Outcome::all().count() + sampling::WORDS as usize);
        for slot in 0..SLOTS {
            words.extend(drops.iter().flat_map(|drop| [place(slot, *drop), place(slot, *drop) + 1]));
        }
        assert_eq!(words.len(), passes + SLOTS as usize * drops.len() * 2);
        assert!(words.last() < Some(&ROW));
        assert_eq!((SLOT, COUNTERS + SLOTS * SLOT), (64, ROW));
    }

    /// The program counts where it is told, and must be refused by no verifier for it.
    #[test]
    fn no_number_leads_out_of_a_row() {
        for slot in 0..=255 {
            for drop in [0, 23, 31, 32, u32::MAX] {
                assert!(place(slot, drop) + 1 < ROW, "{slot} {drop}");
            }
        }
    }
}
