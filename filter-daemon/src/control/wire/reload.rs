//! `io.filterd.Reload`: read the configuration again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Counts, Deed, Failure, Method};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reload {}

/// What a reload changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Targets that entered the filter.
    pub entered: u64,
    /// Targets that left it.
    pub left: u64,
    /// Lists that are as they were.
    pub unchanged: u64,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
    /// What the operator should know: lines not understood, lists that could not be read.
    pub warnings: Vec<String>,
}

impl Method for Reload {
    const NAME: &'static str = "io.filterd.Reload";
    type Request = ();
    type Reply = Reply;
    /// It reads every list again.
    const MAY_TAKE: Duration = Duration::from_secs(600);

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    fn deed((): &()) -> Option<Deed> {
        Some(Deed::about("reload", &[], None))
    }

    fn counts(reply: &Reply) -> Counts {
        Counts { changed: reply.entered + reply.left, entered: reply.entered, left: reply.left }
    }
}
