//! The identity of a decision within the book.

/// A decision that LAPI sent, or one that is only known by its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DecisionId {
    /// An entry of the journal, numbered in the order of restoring.
    Restored(u64),
    /// A decision with the ID that LAPI gave it.
    Lapi(u64),
}

impl DecisionId {
    /// Whether only the entry of the decision is known.
    pub const fn is_restored(self) -> bool {
        matches!(self, Self::Restored(_))
    }
}
