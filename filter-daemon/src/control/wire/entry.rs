//! An entry of a list, as `Test` and `List` show it.

use serde::{Deserialize, Serialize};

/// The origin of lists that commands fill.
pub const LIVE: &str = "live";

/// The origin of lists that follow another system, such as CrowdSec.
pub const REMOTE: &str = "remote";

/// The origin of the list that the host itself fills.
pub const HOST: &str = "host";

/// An entry of a list. Times are in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Entry {
    /// The address or prefix.
    pub target: String,
    /// Name of its list.
    pub list: String,
    /// Time at which it was added to its list.
    pub since: u64,
    /// Whether it may be older: filterd found it at a start, and knows only since when the file was in that form.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_before: bool,
    /// Time at which it expires. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// The note of the user who added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// User and command that added it, as far as known. Entries of lists that are not live have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Origin of the list: `config`, `file`, `live`, `remote` or `host`. Older daemons do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Ports on which the list blocks, if not on all: `on port 22 only`, `on all but port 443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// `out` if packets to it are blocked, `both` if packets from and to it are. Default: packets from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// The wider prefix that is blocked instead, if the list has `ipv6_prefix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<String>,
}
