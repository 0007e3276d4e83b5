//! The errors of the protocol.

use serde::{Deserialize, Serialize};

use crate::text::Explanation;

/// Why a request was not carried out. The name after `io.filterd.` is stable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "error", content = "parameters")]
pub enum Failure {
    /// A target, an address or the name of a list is not valid.
    #[serde(rename = "io.filterd.Unparsable")]
    Unparsable(Explanation),
    /// The line is not a request of this protocol, or too long.
    #[serde(rename = "io.filterd.InvalidRequest")]
    InvalidRequest(Explanation),
    /// The configuration is not valid, and nothing of it was applied.
    #[serde(rename = "io.filterd.InvalidConfig")]
    InvalidConfig(Explanation),
    /// This user may not ask for this.
    #[serde(rename = "io.filterd.PermissionDenied")]
    PermissionDenied(Explanation),
    /// The request is not allowed, such as changing a list that belongs to a file.
    #[serde(rename = "io.filterd.Refused")]
    Refused(Explanation),
    /// All targets are guarded, and nothing has changed.
    #[serde(rename = "io.filterd.Guarded")]
    Guarded(Explanation),
    /// The kernel refused; the old state stays in force.
    #[serde(rename = "io.filterd.Kernel")]
    Kernel(Explanation),
    /// The change is in force, but not on disk, so a restart would lose it. Only older daemons use this error; newer
    /// ones also say what changed ([`Changed`](super::Changed)).
    #[serde(rename = "io.filterd.NotDurable")]
    NotDurable(Explanation),
    /// A part of the request is done, and stays.
    #[serde(rename = "io.filterd.Partly")]
    Partly(Explanation),
    /// The daemon is stopping or overloaded.
    #[serde(rename = "io.filterd.Unavailable")]
    Unavailable(Explanation),
}

impl Failure {
    /// Returns what failed and what to do next.
    #[must_use]
    pub fn explanation(&self) -> &Explanation {
        match self {
            Self::Unparsable(explanation)
            | Self::InvalidRequest(explanation)
            | Self::InvalidConfig(explanation)
            | Self::PermissionDenied(explanation)
            | Self::Refused(explanation)
            | Self::Guarded(explanation)
            | Self::Kernel(explanation)
            | Self::NotDurable(explanation)
            | Self::Partly(explanation)
            | Self::Unavailable(explanation) => explanation,
        }
    }
}
