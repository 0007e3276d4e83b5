//! What keeps a target blocked, or allowed, that was to be removed.

use serde::{Deserialize, Serialize};

/// More entries within a target than this are not counted.
pub const MOST_WITHIN: u64 = 1000;

/// A target that was to be removed and is still blocked, or of which a part is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Held {
    /// The target.
    pub target: String,
    /// The lists that still block it, or a part of it.
    pub lists: Vec<String>,
    /// The entries that block it, and the first of those within it. Empty from daemons that only know the lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<HeldBy>,
    /// It is allowed as a whole, and so it is not dropped, whatever blocks it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allowed: bool,
    /// On which ports, if what blocks it, or a part of it, does so on some only: `on port 22 only`, `on all but port 443`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// How many entries within it there are, which block parts of it; no more than [`MOST_WITHIN`] are counted.
    #[serde(default, skip_serializing_if = "is_none")]
    pub within: u64,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// An entry that keeps a target blocked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeldBy {
    /// The entry's target: the one that was to be removed, one around it, or one within it.
    pub target: String,
    /// The entry's list.
    pub list: String,
    /// Where the list comes from: `config`, `file` or `live`, as in a status.
    pub origin: String,
    /// On which ports the list blocks, if not on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// The wider prefix that is blocked for its sake, where its list widens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<String>,
}
