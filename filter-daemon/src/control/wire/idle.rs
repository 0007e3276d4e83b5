//! Why what is listed is dropped nowhere at the moment.

use serde::{Deserialize, Serialize};

/// Why what is listed passes all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// The filter is on no interface.
    NothingAttached,
    /// `enforce: false`: packets are only counted.
    NotEnforced,
    /// Protection is paused: packets are only counted, for a while.
    Paused,
}
