//! Holds planned words of a table on top of the current ones: reads see the plan, and the table stays
//! unchanged.

use std::cell::RefCell;
use std::collections::HashMap;

use filter_common::labels::{Label, Labels, LabelsMut};
use filter_common::{Words, WordsMut};

/// The current words, and the planned ones that replace some of them. Labels work in the same way.
#[derive(Debug)]
pub struct Overlay<'a, W, T> {
    below: &'a W,
    above: RefCell<HashMap<u32, T>>,
}

impl<'a, W, T> Overlay<'a, W, T> {
    /// An empty plan on top of `below`.
    pub fn over(below: &'a W) -> Self {
        Self { below, above: RefCell::new(HashMap::new()) }
    }

    pub fn into_planned(self) -> HashMap<u32, T> {
        self.above.into_inner()
    }
}

impl<W: Words> Words for Overlay<'_, W, u64> {
    fn load(&self, index: u32) -> u64 {
        self.above.borrow().get(&index).copied().unwrap_or_else(|| self.below.load(index))
    }
}

impl<W: Words> WordsMut for Overlay<'_, W, u64> {
    fn store(&self, index: u32, word: u64) {
        self.above.borrow_mut().insert(index, word);
    }
}

impl<L: Labels> Labels for Overlay<'_, L, Label> {
    fn label(&self, number: u32) -> Label {
        self.above.borrow().get(&number).copied().unwrap_or_else(|| self.below.label(number))
    }
}

impl<L: Labels> LabelsMut for Overlay<'_, L, Label> {
    fn write(&self, number: u32, label: Label) {
        self.above.borrow_mut().insert(number, label);
    }
}
