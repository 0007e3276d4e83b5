//! Assigns numbers to names of lists, for the counters in the kernel. A name keeps its number while its
//! list is gone, as long as other numbers are free. A number passes to another name only after its counters
//! were reset, so packets are never counted under a wrong name.

use std::collections::HashMap;
use std::sync::Arc;

use filter_common::labels::{LAST, Label};

use super::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelName {
    pub name: Arc<str>,
    /// Since when packets are counted under this name.
    pub since: Timestamp,
    /// The turn in which the number became unneeded; none while a list has it.
    let_go: Option<u64>,
}

/// All numbers, with their names.
#[derive(Debug)]
pub struct LabelNames {
    /// Indexed by label, without the label that all other lists share.
    numbers: Vec<Option<LabelName>>,
    names: HashMap<Arc<str>, Label>,
    turn: u64,
}

impl Default for LabelNames {
    fn default() -> Self {
        Self { numbers: vec![None; usize::from(LAST)], names: HashMap::new(), turn: 0 }
    }
}

impl LabelNames {
    /// The number of this name, which may be an earlier one of it, or a free number; none if all are in
    /// use.
    pub fn take(&mut self, name: &Arc<str>, now: Timestamp) -> Option<Label> {
        if let Some(label) = self.names.get(name).copied() {
            if let Some(number) = self.of_mut(label) {
                number.let_go = None;
            }
            return Some(label);
        }
        let label = all().find(|label| self.of(*label).is_none())?;
        self.names.insert(name.clone(), label);
        *self.slot(label) = Some(LabelName { name: name.clone(), since: now, let_go: None });
        Some(label)
    }

    /// The number of this name.
    pub fn find(&self, name: &str) -> Option<Label> {
        self.names.get(name).copied()
    }

    /// Marks the numbers of names for which `is_needed` returns false as unneeded.
    pub fn retain(&mut self, is_needed: impl Fn(&str) -> bool) {
        self.turn += 1;
        let turn = self.turn;
        let not_needed = self.numbers.iter_mut().flatten().filter(|number| !is_needed(&number.name));
        not_needed.for_each(|number| _ = number.let_go.get_or_insert(turn));
    }

    /// Up to `most` unneeded numbers; those that are unneeded for longest come first.
    pub fn unneeded(&self, most: usize) -> Vec<Label> {
        let mut labels: Vec<_> = all().filter_map(|label| Some((self.of(label)?.let_go?, label))).collect();
        labels.sort();
        labels.into_iter().map(|(_, label)| label).take(most).collect()
    }

    /// Frees this number after its counters were reset.
    pub fn cleared(&mut self, label: Label) {
        if let Some(number) = self.slot(label).take() {
            self.names.remove(&number.name);
        }
    }

    /// The name and start of this number.
    pub fn of(&self, label: Label) -> Option<&LabelName> {
        self.numbers.get(usize::from(label).checked_sub(1)?)?.as_ref()
    }

    fn of_mut(&mut self, label: Label) -> Option<&mut LabelName> {
        self.numbers.get_mut(usize::from(label).checked_sub(1)?)?.as_mut()
    }

    fn slot(&mut self, label: Label) -> &mut Option<LabelName> {
        &mut self.numbers[usize::from(label) - 1]
    }
}

/// All numbers that a list may have.
fn all() -> impl Iterator<Item = Label> {
    1..=LAST
}
