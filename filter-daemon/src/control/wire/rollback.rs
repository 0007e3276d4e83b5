//! `io.filterd.Rollback`: restore at once the state before a reload on trial.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Counts, Deed, Failure, Method, reload};

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rollback {}

/// Whether a reload was on trial, and what happened to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Whether a reload was on trial, and the previous state is in force again. A reload that was still running was
    /// finished first.
    pub rolled_back: bool,
    /// Time since which the previous state is in force again, if it was already rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub already: Option<u64>,
    /// The changes of the rollback, in the form of a reload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<reload::Reply>,
}

impl Method for Rollback {
    const NAME: &'static str = "io.filterd.Rollback";
    const MAY_CUT: bool = true;
    type Request = ();
    type Reply = Reply;
    /// A rollback takes as long as a reload, and may have to wait for one.
    const MAY_TAKE: Duration = Duration::from_secs(600);

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    fn deed((): &()) -> Option<Deed> {
        Some(Deed::about("rollback", &[], None))
    }

    fn counts(reply: &Reply) -> Counts {
        let counts = reply.undone.as_ref().map(reload::Reload::counts).unwrap_or_default();
        Counts { is_in_vain: !reply.rolled_back, ..counts }
    }
}
