//! `io.filterd.Watch`: what filterd does and is asked to do, as it happens. The only answer that goes on: a line an event.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::list_name;
use super::{Failure, Method};
use crate::config::ListName;

/// What is watched, and for how long. Without an end it goes on until the client leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Only what names this list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// For so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// So many events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// The same, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Only what names this list.
    pub list: Option<ListName>,
    /// For so long.
    pub length: Option<Duration>,
    /// So many events.
    pub count: Option<u64>,
}

/// One line. The first has no event: it says that what happens from here on is told. Nor has the last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// How many events before this one are lost, because they were not read in time.
    #[serde(default, skip_serializing_if = "is_none_lost")]
    pub lost: u64,
    /// What has happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
}

/// Something that has happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// `info`, `warn` or `error`.
    pub level: String,
    /// What was done, in one word, where there is one: a command (`add`, `remove`, `pause`), or `expire`, `refresh`, `fetch`,
    /// `read`, `reload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// The address or prefix that it is about; of several the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The lists that it is about, where it names any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<String>,
    /// What, in the words of the log: `add 203.0.113.7`.
    pub what: String,
    /// The log's fields: `user`, `process`, `list`, `changed` and others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Value>,
}

impl Request {
    /// Is it to be told?
    pub fn wants(&self, event: &Event) -> bool {
        self.list.as_ref().is_none_or(|list| event.lists.iter().any(|name| name == list.as_str()))
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_none_lost(lost: &u64) -> bool {
    *lost == 0
}

impl Method for Watch {
    const NAME: &'static str = "io.filterd.Watch";
    type Request = Request;
    type Reply = Reply;
    /// Nothing may happen for very long.
    const MAY_TAKE: Duration = Duration::MAX;

    fn check(self) -> Result<Request, Failure> {
        let list = self.list.as_deref().map(list_name).transpose();
        let list = list.map_err(|why| Failure::InvalidRequest(why.into()))?;
        Ok(Request { list, length: self.seconds.map(Duration::from_secs), count: self.count })
    }
}
