//! Frames at full speed while entries move and tables grow: no member ever passes, no unlisted source is ever dropped.

mod four;
mod six;
pub mod traffic;
mod world;

use std::time::Duration;

/// A control goes on until so many members have passed.
const ENOUGH: u64 = 1_000;
const PATIENCE: Duration = Duration::from_secs(60);
