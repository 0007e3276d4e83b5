//! Labels say which list counts a packet from a blocked source. Each blocked entry has a label, which is read
//! only on a hit.
//!
//! No verdict depends on a label. A label is written before its entry, so only packets in flight during a
//! move can be counted for another list. Each packet counts for one list, so the lists together count all of
//! them.

pub mod pages;

use crate::reason::Enforcement;
use crate::{Rest, Words, WordsMut};

/// The number of a list, under which its packets are counted.
pub type Label = u8;

/// Stands for all lists without their own number.
pub const OTHER: Label = 0;

/// The highest number that a list can have. Higher numbers belong to no list.
pub const LAST: Label = 250;

/// The number of counters: for each label, one for each kind of count.
pub const COUNTERS: u32 = 256 * KINDS;

/// The number of kinds of counts.
pub const KINDS: u32 = Counted::ALL.len() as u32;

/// Whether packets are counted for lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counters {
    /// Packets are counted only in total: no labels are kept.
    Total,
    /// Packets are counted for each list.
    #[default]
    Lists,
}

/// The fate of a packet that is counted for a list. The numbers are those of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Counted {
    /// The packet was dropped.
    Dropped = 0,
    /// The packet would have been dropped if the filter enforced.
    WouldDrop = 1,
    /// The packet would have been dropped if protection were not paused.
    Paused = 2,
    /// The packet passed because it is part of a flow that this host began.
    Reply = 3,
}

impl Counted {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Dropped, Self::WouldDrop, Self::Paused, Self::Reply];

    /// The kind for a packet that is to be dropped because of its source.
    #[inline(always)]
    pub const fn of_drop(enforcement: Enforcement) -> Self {
        match enforcement {
            Enforcement::Drop => Self::Dropped,
            Enforcement::Count => Self::WouldDrop,
            Enforcement::Pause => Self::Paused,
        }
    }

    /// The counter for packets of this kind from the list with this label.
    #[inline(always)]
    pub const fn counter(self, label: Label) -> u32 {
        label as u32 * KINDS + self as u32
    }
}

/// Read access to labels by number: the number of a slot, a stash entry or a network.
pub trait Labels {
    /// The label with this number.
    fn label(&self, number: u32) -> Label;
}

/// Labels that can be changed, each by one store.
pub trait LabelsMut: Labels {
    /// Replaces the label with this number.
    fn write(&self, number: u32, label: Label);
}

/// Labels stored in words, eight in each.
#[derive(Clone, Copy, Debug)]
pub struct LabelBytes<W>(pub W);

/// Stands for the absence of labels.
#[derive(Clone, Copy, Debug)]
pub struct NoLabels;

/// The number of words that this many labels take.
pub const fn words_for(labels: u32) -> u32 {
    labels.div_ceil(LABELS)
}

/// The number of labels in a word, and the bits of a label.
const LABELS: u32 = u64::BITS / LABEL_BITS;
const LABEL_BITS: u32 = Label::BITS;

const fn bit_of(number: u32) -> u32 {
    number % LABELS * LABEL_BITS
}

/// The word that holds the label with this number.
#[inline(always)]
pub const fn word_of(number: u32) -> u32 {
    number / LABELS
}

impl<W: Words> Labels for LabelBytes<W> {
    #[inline(always)]
    fn label(&self, number: u32) -> Label {
        (self.0.load(number / LABELS) >> bit_of(number)) as Label
    }
}

impl<W: WordsMut> LabelsMut for LabelBytes<W> {
    #[inline]
    fn write(&self, number: u32, label: Label) {
        let (at, bit) = (number / LABELS, bit_of(number));
        let word = self.0.load(at);
        self.0.change(at, word & !(0xFF << bit) | u64::from(label) << bit);
    }
}

impl Labels for NoLabels {
    #[inline(always)]
    fn label(&self, _: u32) -> Label {
        OTHER
    }
}

impl LabelsMut for NoLabels {
    #[inline(always)]
    fn write(&self, _: u32, _: Label) {}
}

impl<L: Labels> Labels for Option<L> {
    #[inline]
    fn label(&self, number: u32) -> Label {
        self.as_ref().map_or(OTHER, |labels| labels.label(number))
    }
}

impl<L: LabelsMut> LabelsMut for Option<L> {
    #[inline]
    fn write(&self, number: u32, label: Label) {
        if let Some(labels) = self {
            labels.write(number, label);
        }
    }
}

impl<L: Labels> Labels for &L {
    #[inline(always)]
    fn label(&self, number: u32) -> Label {
        (**self).label(number)
    }
}

impl<L: LabelsMut> LabelsMut for &L {
    #[inline(always)]
    fn write(&self, number: u32, label: Label) {
        (**self).write(number, label);
    }
}

impl<L: Labels> Labels for Rest<L> {
    #[inline(always)]
    fn label(&self, number: u32) -> Label {
        self.all().label(self.first() + number)
    }
}

impl<L: LabelsMut> LabelsMut for Rest<L> {
    #[inline]
    fn write(&self, number: u32, label: Label) {
        self.all().write(self.first() + number, label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::vec;

    #[test]
    fn a_label_changes_and_its_neighbours_stay() {
        let words = vec![Cell::new(0); words_for(20) as usize];
        let labels = Rest::new(LabelBytes(&words[..]), 3);
        (0..17).for_each(|number| labels.write(number, number as Label + 100));
        labels.write(5, 7);
        let expected = |number: u32| if number == 5 { 7 } else { number as Label + 100 };
        assert!((0..17).all(|number| labels.label(number) == expected(number)));
        assert_eq!([0, 1, 2].map(|number| labels.all().label(number)), [0; 3]);
    }

    #[test]
    fn every_label_and_kind_has_its_counter() {
        let counters: std::collections::BTreeSet<u32> =
            (0..=Label::MAX).flat_map(|label| Counted::ALL.map(|counted| counted.counter(label))).collect();
        assert_eq!(counters.len() as u32, COUNTERS);
        assert_eq!(counters.last(), Some(&(COUNTERS - 1)));
    }
}
