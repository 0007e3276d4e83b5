//! What an entry that comes with others says of its own.

use serde::{Deserialize, Serialize};

/// The most entries one message carries: with the longest notes, every byte of them escaped, it stays below
/// [`LONGEST_LINE`](super::LONGEST_LINE).
pub const MOST_ENTRIES: usize = 1024;

/// What an entry says beside its target.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// When it expires, in seconds since 1970; never if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Why it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
