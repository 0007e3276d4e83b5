//! What still blocks, or allows, a target that was to be removed.

use serde::{Deserialize, Serialize};

/// Entries within a target are counted up to this number.
pub const MOST_WITHIN: u64 = 1000;

/// A target that is still blocked after a remove, as a whole or in part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Held {
    /// The target of the request.
    pub target: String,
    /// Names of the lists that still block it, or a part of it.
    pub lists: Vec<String>,
    /// Entries that block it, and the first entries within it. Older daemons send none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<HeldBy>,
    /// Whether it is allowed as a whole, and therefore not dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allowed: bool,
    /// Ports, if an entry blocks it, or a part of it, on some only: `on port 22 only`, `on all but port 443`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// Number of entries within it, which block parts of it. Only [`MOST_WITHIN`] are counted.
    #[serde(default, skip_serializing_if = "is_none")]
    pub within: u64,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// An entry that still blocks a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeldBy {
    /// Target of the entry: the removed one, one around it, or one within it.
    pub target: String,
    /// Name of the list of the entry.
    pub list: String,
    /// Origin of the list: `config`, `file` or `live`, as in a status.
    pub origin: String,
    /// Ports on which the list blocks, if not on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// The wider prefix that is blocked instead, if the list has `ipv6_prefix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<String>,
    /// The direction of packets that the list blocks: `out` or `both`. Default: `in`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
}
