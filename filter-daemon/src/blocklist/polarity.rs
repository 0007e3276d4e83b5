//! Whether a list blocks or allows.

use filter_common::sets::SetName;

/// The effect of a list on packets from its targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polarity {
    /// Packets from its targets are dropped.
    #[default]
    Block,
    /// Packets from its targets pass, even if another list blocks them.
    Allow,
}

impl Polarity {
    pub const ALL: [Self; 2] = [Self::Block, Self::Allow];

    /// The set of the lists without a port clause.
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
