//! `io.filterd.HandOver`: end, and leave the filter to the filterd that asks.

use serde::{Deserialize, Serialize};

pub use super::ping::Reply;
use super::{Deed, Failure, Method};

/// This method has no parameters.
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

    /// It changes no list, but the log says who asked for it.
    fn deed((): &()) -> Option<Deed> {
        Some(Deed::about("asked to end and hand over", &[], None))
    }
}
