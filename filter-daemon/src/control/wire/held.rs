//! What keeps a target blocked that was to be removed.

use serde::{Deserialize, Serialize};

/// A target that was to be removed and is still blocked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The target.
    pub target: String,
    /// The lists that still block it.
    pub lists: Vec<String>,
    /// The entries that block it, or a part of it. Empty from daemons that only know the lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<HeldBy>,
}

/// An entry that keeps a target blocked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldBy {
    /// The entry's target: the one that was to be removed, one around it, or one within it.
    pub target: String,
    /// The entry's list.
    pub list: String,
    /// Where the list comes from: `config`, `file` or `live`, as in a status.
    pub origin: String,
}
