//! Guarded addresses that a request names.

use serde::{Deserialize, Serialize};

/// A guarded address, and the target that would have blocked it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Guarded {
    /// The target of the request: the address itself, or a prefix around it.
    pub target: String,
    /// The address that is guarded.
    pub address: String,
    /// The reason why it is guarded, such as `a gateway of this host`.
    pub why: String,
}

/// The most guarded addresses that a reply names.
pub const MOST_GUARDED: usize = 100;
