//! What is added, removed or written into a file at once.

use std::collections::HashSet;

use super::prefix::{Prefix, ip, pieces};

/// Targets as they are typed, as what they mean, and what they are in words.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// A line each.
    pub lines: Vec<String>,
    /// What they mean, each once.
    pub targets: Vec<Prefix>,
    /// In a few words.
    pub words: String,
}

impl Batch {
    /// These targets, a line each.
    pub fn of(targets: Vec<Prefix>, words: &str) -> Self {
        let lines = targets.iter().map(Prefix::to_string).collect();
        let words = format!("{} {words}{}", targets.len(), first_of(&targets));
        Self { lines, targets, words }
    }

    /// One more range, unless a piece of it is there already.
    pub fn push_range(&mut self, known: &mut HashSet<Prefix>, is_six: bool, first: u128, last: u128) {
        let pieces = pieces(is_six, first, last);
        if pieces.iter().any(|piece| known.contains(piece)) {
            return;
        }
        known.extend(&pieces);
        self.lines.push(format!("{}-{}", ip(is_six, first), ip(is_six, last)));
        self.targets.extend(pieces);
    }
}

/// The first of them, in words.
pub fn first_of(targets: &[Prefix]) -> String {
    targets.first().map_or(String::new(), |first| format!(", the first of them {first}"))
}
