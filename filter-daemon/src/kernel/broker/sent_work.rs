//! What programs do with frames and calls that are sent, and what these programs are called in the kernel.

/// The programs that record own flows: for frames with an Ethernet header, and for those without.
pub const EGRESS: &str = "filterd_egress";
pub const EGRESS_BARE: &str = "filterd_eg_bare";

/// The programs by which calls fail.
pub const CONNECT: [&str; 4] =
    ["filterd_connect4", "filterd_sendmsg4", "filterd_connect6", "filterd_sendmsg6"];

/// What a program does with sent frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentWork {
    RecordFlows,
    JudgeDestinations,
}

impl SentWork {
    pub const ALL: [Self; 2] = [Self::RecordFlows, Self::JudgeDestinations];

    /// The directory of its pins.
    pub const fn directory(self) -> &'static str {
        match self {
            Self::RecordFlows => "egress",
            Self::JudgeDestinations => "outbound",
        }
    }

    /// What is so while it is attached, in words.
    pub const fn described(self) -> &'static str {
        match self {
            Self::RecordFlows => "own flows are recorded",
            Self::JudgeDestinations => "destinations are filtered",
        }
    }
}
