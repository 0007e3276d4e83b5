//! The layout of the one map of packet counters, in 64-bit words. The judge counts there and the daemon reads
//! it.
//!
//! Each processor has a row. A row begins with one counter for each outcome, of which only those for passed
//! packets are used. The slots follow: packets and bytes for each outcome that is a drop or would be one.
//! Each interface has a slot. After the rows comes one byte per interface number, which holds the number of
//! its slot. The directory comes last and says which interface each slot belongs to.
//!
//! Passed packets are therefore counted as if there were no slots, and the sum over all slots is the number
//! of packets to drop.

use crate::reason::{COUNTERS, Outcome, Reason, UNUSED, Verdict};
use crate::sampling;

/// The words of a processor's row: a power of two, so that finding a row is a shift.
pub const ROW: u32 = 1 << 11;

/// The place of the sampling state in a row ([`sampling::at`](crate::sampling::at)), in counters that belong
/// to no outcome.
pub const SAMPLING: u32 = COUNTERS - 16;

const _: () = assert!(
    SAMPLING >= UNUSED && SAMPLING + sampling::WORDS <= COUNTERS,
    "the state of sampling would share the counters of outcomes"
);

/// The number of slots in a row.
pub const SLOTS: u32 = 30;

/// The slot that all interfaces without their own slot share.
pub const OTHER: u32 = 0;

/// The slot that keeps the counts of interfaces whose own slots were given to others. No packet counts here.
pub const GONE: u32 = SLOTS - 1;

/// Only interfaces with numbers below this can have their own slot.
pub const NUMBERED: u32 = 1 << 16;

/// The words in which each of these interfaces has a byte for its slot.
pub const NUMBERS: u32 = NUMBERED / 8;

/// The words of a slot in the directory: the interface number, two words of its name, and when it began to
/// count.
pub const ENTRY: u32 = 4;

/// The number of words in the directory.
pub const DIRECTORY: u32 = SLOTS * ENTRY;

/// The words of a slot: packets and bytes for each outcome that is a drop or would be one.
pub const SLOT: u32 = (ROW - COUNTERS) / SLOTS;

/// The number of reasons to drop that a slot has counters for. Their numbers differ modulo this one.
const REASONS: u32 = 8;

/// The lowest number of any reason to drop.
const FIRST: u32 = 3;

/// The number of [enforcements](crate::reason::Enforcement) that each reason to drop has counters for.
const ENFORCEMENTS: u32 = 3;

const _: () = {
    let mut number = 0;
    while number < Reason::ALL.len() {
        assert!(
            has_room(Reason::ALL[number]),
            "a reason to drop would share the counters of another one: give it another number"
        );
        number += 1;
    }
    assert!(2 * ENFORCEMENTS * REASONS <= SLOT, "a slot has too few words for so many reasons to drop");
};

/// True if the slot has counters for this reason. Packets that pass need none.
const fn has_room(reason: Reason) -> bool {
    match reason.verdict() {
        Verdict::Pass(_) => true,
        Verdict::Drop(_) => {
            let (mut index, mut sharing) = (0, 0);
            while index < Reason::ALL.len() {
                let other = Reason::ALL[index];
                let is_at_its_place = (other as u32).wrapping_sub(FIRST) % REASONS
                    == (reason as u32).wrapping_sub(FIRST) % REASONS;
                if matches!(other.verdict(), Verdict::Drop(_)) && is_at_its_place {
                    sharing += 1;
                }
                index += 1;
            }
            sharing == 1
        }
    }
}

/// The number of words in a map with this many rows.
#[must_use]
pub const fn words(rows: u32) -> u32 {
    rows * ROW + NUMBERS + DIRECTORY
}

/// The counters of a slot that belong to this outcome. None for a packet that passes as usual.
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

/// The word of a row that counts the packets of a drop. The next word counts its bytes. The place is inside
/// the row for any numbers.
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

    /// The program counts at the place that it is given, and every verifier must accept that.
    #[test]
    fn any_number_stays_inside_its_row() {
        for slot in 0..=255 {
            for drop in [0, 23, 31, 32, u32::MAX] {
                assert!(place(slot, drop) + 1 < ROW, "{slot} {drop}");
            }
        }
    }
}
