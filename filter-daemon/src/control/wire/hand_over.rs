//! `io.filterd.HandOver`: end, and leave the filter to the filterd that asks.

use serde::{Deserialize, Serialize};

pub use super::ping::Reply;
use super::{Deed, Failure, Method};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HandOver {}

impl Method for HandOver {
    const NAME: &'static str = "io.filterd.HandOver";
    type Request = ();
    type Reply = Reply;
    const IS_ROOTS: bool = true;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    /// Nothing of the blocklist; but whoever asks for it is told.
    fn deed((): &()) -> Option<Deed> {
        Some(Deed::about("asked to end and hand over", &[], None))
    }
}
