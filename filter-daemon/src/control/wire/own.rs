//! The end and note of an entry in an `Import`.

use serde::{Deserialize, Serialize};

/// The most entries of one message. With the longest notes, every byte of them escaped, it stays below
/// [`LONGEST_LINE`](super::LONGEST_LINE).
pub const MOST_ENTRIES: usize = 1024;

/// The end and note of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// Time at which it expires, in seconds since 1970. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// The note of the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
