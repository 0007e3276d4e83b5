//! `io.filterd.Pause`: only count what is blocked, for a while.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Deed, Failure, Idle, Method, words};

/// As it travels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// For how many seconds from now on.
    pub seconds: u64,
}

/// As it is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// For how long.
    pub length: Duration,
    /// Who asks.
    pub by: String,
}

/// What is paused from now on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Until when, in seconds since 1970.
    pub until: u64,
    /// Until when it was paused before, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Why nothing would be dropped anyway, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
}

impl Method for Pause {
    const NAME: &'static str = "io.filterd.Pause";
    type Request = Request;
    type Reply = Reply;

    fn check(self) -> Result<Request, Failure> {
        Ok(Request { length: words::pause(self.seconds)?, by: String::new() })
    }

    fn sign(request: &mut Request, who: impl FnOnce(&str) -> String) {
        request.by = who("pause");
    }

    fn deed(request: &Request) -> Option<Deed> {
        Some(Deed { ttl: Some(request.length), ..Deed::about("pause", &[], None) })
    }
}
