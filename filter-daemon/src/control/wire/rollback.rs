//! `io.filterd.Rollback`: what was before a reload on trial is in force again, at once.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Counts, Deed, Failure, Method, reload};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rollback {}

/// Whether anything was on trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// It was, and what was before is in force again. A reload that was still at work was let come to its end before.
    pub rolled_back: bool,
    /// Since when what was before is in force again, if it was before this was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub already: Option<u64>,
    /// What that changed, in the words of a reload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<reload::Reply>,
}

impl Method for Rollback {
    const NAME: &'static str = "io.filterd.Rollback";
    const MAY_CUT: bool = true;
    type Request = ();
    type Reply = Reply;
    /// As long as a reload, which it may have to wait for.
    const MAY_TAKE: Duration = Duration::from_secs(600);

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    fn deed((): &()) -> Option<Deed> {
        Some(Deed::about("rollback", &[], None))
    }

    fn counts(reply: &Reply) -> Counts {
        reply.undone.as_ref().map(reload::Reload::counts).unwrap_or_default()
    }
}
