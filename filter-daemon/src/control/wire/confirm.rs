//! `io.filterd.Confirm`: what a reload has brought on trial stays.

use serde::{Deserialize, Serialize};

use super::reload::HeldBack;
use super::{Deed, Failure, Method};
use crate::text::Explanation;

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Confirm {}

/// Whether anything was on trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// It was, and stays.
    pub confirmed: bool,
    /// Since when what was before is in force again, if it was confirmed too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<u64>,
    /// It was confirmed too late: its time was over, or somebody did not want it, and what was before is being put back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolling_back: bool,
    /// Why something else stays than what was on trial, if that is so: its file could not be used at a start since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_taken: Option<Explanation>,
    /// Why the next start may not know of it, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnoted: Option<Explanation>,
    /// Lists that are not what their files say: of these something else stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldBack>,
    /// A reload that is to be on trial is still at work: it can be confirmed when it has answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_work: bool,
    /// What is in force, but has no copy on disk: it would not survive its file.
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
}
