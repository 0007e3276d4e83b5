//! Which name has which number. A name keeps its number while its list is away, as long as there are others, and a number is
//! given to another name only once its counters were set back: so nothing is ever counted under a wrong name.

use std::collections::HashMap;
use std::sync::Arc;

use filter_common::labels::{LAST, Label};

use super::Timestamp;

/// A number that a name has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// The name.
    pub name: Arc<str>,
    /// Since when it is counted under it.
    pub since: Timestamp,
    /// In which turn nobody needed it any more; some list has it if none.
    let_go: Option<u64>,
}

/// Every number, and who has it.
#[derive(Debug)]
pub struct Numbers {
    /// By label, without the one that all others share.
    numbers: Vec<Option<Number>>,
    names: HashMap<Arc<str>, Label>,
    turn: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { numbers: vec![None; usize::from(LAST)], names: HashMap::new(), turn: 0 }
    }
}

impl Numbers {
    /// The number that this name has, perhaps from before, or an unused one; none if there is none left.
    pub fn take(&mut self, name: &Arc<str>, now: Timestamp) -> Option<Label> {
        if let Some(label) = self.names.get(name).copied() {
            if let Some(number) = self.of_mut(label) {
                number.let_go = None;
            }
            return Some(label);
        }
        let label = all().find(|label| self.of(*label).is_none())?;
        self.names.insert(name.clone(), label);
        *self.slot(label) = Some(Number { name: name.clone(), since: now, let_go: None });
        Some(label)
    }

    /// The number that this name has.
    pub fn find(&self, name: &str) -> Option<Label> {
        self.names.get(name).copied()
    }

    /// Those whom `is_needed` denies need their numbers no longer.
    pub fn retain(&mut self, is_needed: impl Fn(&str) -> bool) {
        self.turn += 1;
        let turn = self.turn;
        let not_needed = self.numbers.iter_mut().flatten().filter(|number| !is_needed(&number.name));
        not_needed.for_each(|number| _ = number.let_go.get_or_insert(turn));
    }

    /// Up to `most` numbers that nobody needs, the longest unneeded ones first.
    pub fn unneeded(&self, most: usize) -> Vec<Label> {
        let mut labels: Vec<_> = all().filter_map(|label| Some((self.of(label)?.let_go?, label))).collect();
        labels.sort();
        labels.into_iter().map(|(_, label)| label).take(most).collect()
    }

    /// Its counters were set back: it is nobody's.
    pub fn cleared(&mut self, label: Label) {
        if let Some(number) = self.slot(label).take() {
            self.names.remove(&number.name);
        }
    }

    /// Who has this number.
    pub fn of(&self, label: Label) -> Option<&Number> {
        self.numbers.get(usize::from(label).checked_sub(1)?)?.as_ref()
    }

    fn of_mut(&mut self, label: Label) -> Option<&mut Number> {
        self.numbers.get_mut(usize::from(label).checked_sub(1)?)?.as_mut()
    }

    fn slot(&mut self, label: Label) -> &mut Option<Number> {
        &mut self.numbers[usize::from(label) - 1]
    }
}

/// All numbers that a list may have.
fn all() -> impl Iterator<Item = Label> {
    1..=LAST
}
