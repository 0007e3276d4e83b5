//! Why a request was not carried out, in the words of the wire.

use serde::{Deserialize, Serialize};

use crate::text::Explanation;

/// Why a request was not carried out. The name after `io.filterd.` is stable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "error", content = "parameters")]
pub enum Failure {
    /// A target, an address or the name of a list is not written as one.
    #[serde(rename = "io.filterd.Unparsable")]
    Unparsable(Explanation),
    /// The line is no request of this protocol, or too long.
    #[serde(rename = "io.filterd.InvalidRequest")]
    InvalidRequest(Explanation),
    /// The configuration is not valid; nothing of it was applied.
    #[serde(rename = "io.filterd.InvalidConfig")]
    InvalidConfig(Explanation),
    /// The peer's user may not ask for this.
    #[serde(rename = "io.filterd.PermissionDenied")]
    PermissionDenied(Explanation),
    /// It would do what must not be done, such as changing a list that belongs to a file.
    #[serde(rename = "io.filterd.Refused")]
    Refused(Explanation),
    /// All that was to be blocked is guarded; nothing has changed.
    #[serde(rename = "io.filterd.Guarded")]
    Guarded(Explanation),
    /// The kernel did not do it; the old set stays.
    #[serde(rename = "io.filterd.Kernel")]
    Kernel(Explanation),
    /// It is done and works, but is not on disk: it would not survive a restart. Older daemons say so in this way;
    /// newer ones tell what they did, too ([`Changed`](super::Changed)).
    #[serde(rename = "io.filterd.NotDurable")]
    NotDurable(Explanation),
    /// A part of it is done, and stays so.
    #[serde(rename = "io.filterd.Partly")]
    Partly(Explanation),
    /// The daemon is stopping or overloaded.
    #[serde(rename = "io.filterd.Unavailable")]
    Unavailable(Explanation),
}

impl Failure {
    /// What failed, on what, and what to do next.
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
