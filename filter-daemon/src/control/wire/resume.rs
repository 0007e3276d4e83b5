//! `io.filterd.Resume`: end a pause.

use serde::{Deserialize, Serialize};

use super::{Deed, Failure, Idle, Method};

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Resume {}

/// The pause that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Time at which the pause would have ended, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Why nothing is dropped without the pause either, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
}

impl Method for Resume {
    const NAME: &'static str = "io.filterd.Resume";
    type Request = ();
    type Reply = Reply;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    fn deed((): &()) -> Option<Deed> {
        Some(Deed::about("resume", &[], None))
    }
}
