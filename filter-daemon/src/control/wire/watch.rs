//! `io.filterd.Watch`: what filterd does and is asked to do, and what it drops, as it happens. The only answer that goes on: a line an event.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::list_name;
use super::{Failure, Method};
use crate::config::ListName;
use crate::text::Explanation;

/// What is watched, and for how long. Without an end it goes on until the client leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Changes: what filterd does and is asked to do. Where neither is said, both are watched.
    #[serde(default, skip_serializing_if = "is_no")]
    pub changes: bool,
    /// Drops, some of them told in full, each for as many as its `weight` says.
    #[serde(default, skip_serializing_if = "is_no")]
    pub drops: bool,
    /// With the first bytes of the frame of each packet that is dropped. Only root is shown what is behind its headers.
    #[serde(default, skip_serializing_if = "is_no")]
    pub frames: bool,
    /// Only what names this list, or was dropped for its sake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// For so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// So many events and drops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// The same, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What is done.
    pub changes: bool,
    /// What is dropped.
    pub drops: bool,
    /// And its first bytes.
    pub frames: bool,
    /// Only what names this list.
    pub list: Option<ListName>,
    /// For so long.
    pub length: Option<Duration>,
    /// So many events.
    pub count: Option<u64>,
}

/// One line. The first has no event and no drop: it says that what happens from here on is told. Nor has the last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// How many events or drops before this one are lost, because they were not read in time.
    #[serde(default, skip_serializing_if = "is_none_lost")]
    pub lost: u64,
    /// What has happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    /// What was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<Drop>,
    /// Why no drops can be told, where they were to be: only on the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_drops: Option<Explanation>,
}

/// A packet that was to be dropped, which stands for others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Drop {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// How many nanoseconds behind that.
    pub nanoseconds: u32,
    /// How many drops it stands for: sums over weights are estimates without bias. While few packets are dropped, it is 1.
    pub weight: u64,
    /// So many drops before it nobody stands for, because they came faster than they were read.
    #[serde(default, skip_serializing_if = "is_none_lost")]
    pub lost: u64,
    /// The address that it came from; none where it has too many VLAN tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The protocol: `tcp`, `udp`, `icmp`, `icmpv6` and others, or its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The port that it came from, of a protocol with ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// The port that it was sent to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The interface that it came in by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The list that it is counted for; none with `counters: total`, or where no list has a number left for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Why, by the name of the reason as `Stats` tells it.
    pub reason: String,
    /// What became of it: `drop`, or `would_drop` with `enforce: false`, or `paused`.
    pub outcome: String,
    /// Bytes of the whole frame.
    pub bytes: u32,
    /// The first bytes of the frame, at most 128, in hexadecimal: for root; for others they end behind its last header. None of
    /// packets that pass, because protection is paused or `enforce` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
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
    /// `read`, `reload`, or `attach` and `detach` where the filter came onto an interface or went from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// The address or prefix that it is about; of several the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The lists that it is about, or in which it changed anything, where there are any: as many as have room in 1,500
    /// characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<String>,
    /// What, in the words of the log: `add 203.0.113.7`.
    pub what: String,
    /// The log's fields: `user`, `process`, `list`, `changed` and others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Value>,
}

impl Reply {
    /// A line of which nothing is told yet.
    pub fn new() -> Self {
        Self { version: super::VERSION, ..Self::default() }
    }
}

impl Request {
    /// Is it to be told?
    pub fn wants(&self, event: &Event) -> bool {
        self.list.as_ref().is_none_or(|list| event.lists.iter().any(|name| name == list.as_str()))
    }

    /// Is this drop to be told?
    pub fn wants_drop(&self, drop: &Drop) -> bool {
        self.list.as_ref().is_none_or(|list| drop.list.as_deref() == Some(list.as_str()))
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_no(word: &bool) -> bool {
    !word
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
        let both = !self.changes && !self.drops;
        let (changes, drops) = (self.changes || both, self.drops || both);
        Ok(Request {
            changes,
            drops,
            frames: self.frames,
            list,
            length: self.seconds.map(Duration::from_secs),
            count: self.count,
        })
    }
}
