//! Why no packet of a listed source is dropped at the moment.

use serde::{Deserialize, Serialize};

/// Why packets of listed sources pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// The filter is attached to no interface.
    NothingAttached,
    /// `enforce: false`: packets are only counted.
    NotEnforced,
    /// Protection is paused: packets are only counted for a while.
    Paused,
}
