//! `io.filterd.Pause`: only count listed packets for a while.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Deed, Failure, Idle, Method, words};

/// The parameters on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Length of the pause in seconds, from now on.
    pub seconds: u64,
}

/// The parameters after they were checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// How long it lasts.
    pub length: Duration,
    /// The user who asks.
    pub by: String,
}

/// The pause that begins now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Time of its end, in seconds since 1970.
    pub until: u64,
    /// End of the pause before this one, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Why nothing would be dropped without the pause either, if that is so.
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
