//! What a request met that is guarded.

use serde::{Deserialize, Serialize};

/// A guarded address, and what would have blocked it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Guarded {
    /// What was to be blocked: the address itself, or a prefix around it.
    pub target: String,
    /// The address.
    pub address: String,
    /// Why it is guarded: `a gateway of this host`, say.
    pub why: String,
}

/// The most that are told one by one.
pub const MOST_GUARDED: usize = 100;
