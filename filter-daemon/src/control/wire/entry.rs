//! One entry of one list, as test and list show it.

use serde::{Deserialize, Serialize};

/// An entry. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The address or prefix.
    pub target: String,
    /// The list that it is in.
    pub list: String,
    /// Since when.
    pub since: u64,
    /// When it expires; never if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Why, in the words of whoever added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
