//! What a list does to those on it.

use filter_common::sets::SetName;

/// What it means to be on a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polarity {
    /// Packets from there are dropped.
    #[default]
    Block,
    /// Packets from there pass, whatever is blocked.
    Allow,
}

impl Polarity {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Block, Self::Allow];

    /// The set of those lists that have no clause.
    pub const fn whole(self) -> SetName {
        match self {
            Self::Block => SetName::Block,
            Self::Allow => SetName::Allow,
        }
    }
}

impl From<SetName> for Polarity {
    fn from(set: SetName) -> Self {
        if set.blocks() { Self::Block } else { Self::Allow }
    }
}
