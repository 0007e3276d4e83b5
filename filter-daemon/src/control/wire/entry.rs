//! One entry of one list, as test and list show it.

use serde::{Deserialize, Serialize};

/// The origin of lists that commands fill.
pub const LIVE: &str = "live";

/// The origin of the list that the host itself fills.
pub const HOST: &str = "host";

/// An entry. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Entry {
    /// The address or prefix.
    pub target: String,
    /// The list that it is in.
    pub list: String,
    /// Since when it is on its list.
    pub since: u64,
    /// Perhaps for longer: filterd found it there when it began, and knows only since when the file was as it was then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_before: bool,
    /// When it expires; never if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Why, in the words of whoever added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who put it on the list, as far as that is known: user and command. Of a list that is not live nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Where the list comes from: `config`, `file`, `live` or `host`. Older daemons do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// On which ports the list blocks, if not on all: `on port 22 only`, `on all but port 443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// The wider prefix that is blocked for its sake, where its list widens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<String>,
}
