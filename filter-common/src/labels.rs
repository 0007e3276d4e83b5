//! Which list a packet from a blocked source counts for: a label beside everything that is blocked, asked on a hit only.
//!
//! No verdict depends on a label. It is written before what it belongs to, so only packets in flight while something moves
//! can be counted for another list; and since each of them counts for one, the lists together have all of them.

use crate::reason::{Enforcement, Reason};

/// The number of a list, by which it is counted.
pub type Label = u8;

/// All lists without a number of their own.
pub const OTHER: Label = 0;

/// The highest number of a list; those above are nobody's.
pub const LAST: Label = 250;

/// How many counters there are: of each label one for each way to be counted.
pub const COUNTERS: u32 = 256 * KINDS;

/// How many ways there are.
pub const KINDS: u32 = Counted::ALL.len() as u32;

/// Are packets counted for lists at all?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counters {
    /// Only all together: no label is kept.
    #[default]
    Total,
    /// For each list.
    Lists,
}

/// What became of a packet that is counted for a list. The numbers are those of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Counted {
    /// It was dropped.
    Dropped = 0,
    /// It would have been dropped if the filter enforced.
    WouldDrop = 1,
    /// It would have been dropped if protection were not paused.
    Paused = 2,
    /// It is part of what this host began, and passed.
    Reply = 3,
}

impl Counted {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Dropped, Self::WouldDrop, Self::Paused, Self::Reply];

    /// What becomes of a packet that is dropped for the sake of its source.
    #[inline(always)]
    pub const fn of_drop(enforcement: Enforcement) -> Self {
        match enforcement {
            Enforcement::Drop => Self::Dropped,
            Enforcement::Count => Self::WouldDrop,
            Enforcement::Pause => Self::Paused,
        }
    }

    /// The counter of such packets for the list of this number.
    #[inline(always)]
    pub const fn counter(self, label: Label) -> u32 {
        label as u32 * KINDS + self as u32
    }
}

/// Is a packet with this reason counted for a list, if it is dropped?
pub const fn is_of_a_list(reason: Reason) -> bool {
    match reason {
        Reason::Address4 | Reason::Network4 | Reason::Net64 | Reason::Other6 => true,
        Reason::Unlisted
        | Reason::NotIp
        | Reason::Malformed
        | Reason::TooManyTags
        | Reason::Neighbour
        | Reason::Allowed
        | Reason::Reply
        | Reason::OtherPort
        | Reason::LaterFragment => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_has_a_counter_of_its_own_for_each_way_to_be_counted() {
        let counters: std::collections::BTreeSet<u32> =
            (0..=Label::MAX).flat_map(|label| Counted::ALL.map(|counted| counted.counter(label))).collect();
        assert_eq!(counters.len() as u32, COUNTERS);
        assert_eq!(counters.last(), Some(&(COUNTERS - 1)));
    }
}
