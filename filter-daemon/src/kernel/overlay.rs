//! A plan for some words of a table, laid over those it has: reads see the plan, the table stays as it is.

use std::cell::RefCell;
use std::collections::HashMap;

use filter_common::{Words, WordsMut};

/// The words below, and those that are to replace some of them.
#[derive(Debug)]
pub struct Overlay<'a, W> {
    below: &'a W,
    above: RefCell<HashMap<u32, u64>>,
}

impl<'a, W: Words> Overlay<'a, W> {
    /// Lays `planned` over `below`.
    pub fn new(below: &'a W, planned: HashMap<u32, u64>) -> Self {
        Self { below, above: RefCell::new(planned) }
    }

    /// The plan.
    pub fn into_planned(self) -> HashMap<u32, u64> {
        self.above.into_inner()
    }
}

impl<W: Words> Words for Overlay<'_, W> {
    fn load(&self, index: u32) -> u64 {
        self.above.borrow().get(&index).copied().unwrap_or_else(|| self.below.load(index))
    }
}

impl<W: Words> WordsMut for Overlay<'_, W> {
    fn store(&self, index: u32, word: u64) {
        self.above.borrow_mut().insert(index, word);
    }
}
