//! One entry of one list, as test and list show it.

use serde::{Deserialize, Serialize};

/// The origin of lists that commands fill.
pub const LIVE: &str = "live";

/// An entry. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The address or prefix.
    pub target: String,
    /// The list that it is in.
    pub list: String,
    /// Since when. Of a list that is not live: since when its file names it, as far as this daemon has seen; what it found at its
    /// start, since when the file was as it is.
    pub since: u64,
    /// When it expires; never if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Why, in the words of whoever added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who put it on the list, as far as that is known: user and command. Of a list that is not live nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Where the list comes from: `config`, `file` or `live`. Older daemons do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// On which ports the list blocks, if not on all: `on port 22 only`, `on all but port 443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
}
