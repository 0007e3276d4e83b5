//! Which packets a list blocks: those from its targets, those to them, or both.

/// The direction of the packets that a list blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Packets from its targets.
    #[default]
    In,
    /// Packets to its targets.
    Out,
    /// Packets from and to its targets.
    Both,
}

impl Direction {
    /// Every direction, in the order of the docs.
    pub const ALL: [Self; 3] = [Self::In, Self::Out, Self::Both];

    /// The word for it in a configuration and in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::Both => "both",
        }
    }

    /// The word, if it is not the usual direction.
    #[must_use]
    pub fn unusual_name(self) -> Option<&'static str> {
        (self != Self::In).then(|| self.name())
    }

    /// Whether packets to its targets are blocked.
    #[must_use]
    pub const fn is_outbound(self) -> bool {
        matches!(self, Self::Out | Self::Both)
    }

    /// The direction of the live list of this name that blocks.
    #[must_use]
    pub fn of_live(name: &str) -> Self {
        if name == MANUAL_OUT { Self::Out } else { Self::In }
    }
}

/// The live list for destinations. The direction of all other live lists is [`Direction::In`].
pub const MANUAL_OUT: &str = "manual-out";
