//! `io.filterd.Confirm`: keep the changes of a reload on trial.

use serde::{Deserialize, Serialize};

use super::reload::HeldBack;
use super::{Counts, Deed, Failure, Method};
use crate::text::Explanation;

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Confirm {}

/// Whether a reload was on trial, and what happened to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Whether a reload was on trial and now stays.
    pub confirmed: bool,
    /// If the confirmation came too late: time since which the previous configuration is in force again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<u64>,
    /// Whether the confirmation came too late and the rollback is running: the time was over, or somebody asked for a
    /// rollback.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolling_back: bool,
    /// Why something other than the reload on trial stays, if that is so: its file was not valid at a start since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_taken: Option<Explanation>,
    /// Why the next start may not know of the confirmation, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnoted: Option<Explanation>,
    /// Lists that are not what their files say: their previous version stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldBack>,
    /// Whether the reload is still running. It can be confirmed when it has finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_work: bool,
    /// Lists and settings in force that have no copy on disk. They would be lost with their file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<Explanation>,
}

impl Method for Confirm {
    const NAME: &'static str = "io.filterd.Confirm";
    type Request = ();
    type Reply = Reply;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    fn deed((): &()) -> Option<Deed> {
        Some(Deed::about("confirm", &[], None))
    }

    fn counts(reply: &Reply) -> Counts {
        Counts { is_in_vain: !reply.confirmed, ..Counts::default() }
    }
}
