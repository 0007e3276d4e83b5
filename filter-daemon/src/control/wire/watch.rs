//! `io.filterd.Watch`: show changes and drops as they happen. This is the only answer without an end: one line per
//! event.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::list_name;
use super::{Failure, Method};
use crate::config::ListName;
use crate::text::Explanation;

/// What to watch, and for how long. Without a limit, it continues until the client leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Watch changes: what filterd does and is asked to do. With neither this nor `drops`, both are watched.
    #[serde(default, skip_serializing_if = "is_no")]
    pub changes: bool,
    /// Watch drops. If there are many, they are a sample, and each stands for as many as its `weight` says.
    #[serde(default, skip_serializing_if = "is_no")]
    pub drops: bool,
    /// Include the first bytes of the frame of each dropped packet. Only root gets bytes after the last header.
    #[serde(default, skip_serializing_if = "is_no")]
    pub frames: bool,
    /// Only events that name this list, and drops that count for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// End after this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// End after this many events and drops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// The parameters after they were checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Whether changes are watched.
    pub changes: bool,
    /// Whether drops are watched.
    pub drops: bool,
    /// Whether frames are included.
    pub frames: bool,
    /// Only events and drops of this list.
    pub list: Option<ListName>,
    /// How long the watch lasts.
    pub length: Option<Duration>,
    /// Number of events after which it ends.
    pub count: Option<u64>,
}

/// One line of the answer. The first and the last have no event and no drop. The first says that nothing is missed from
/// here on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Number of events or drops that were lost before this one, because the client did not read them in time.
    #[serde(default, skip_serializing_if = "is_none_lost")]
    pub lost: u64,
    /// A change, if this line has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    /// A dropped packet, if this line has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<Drop>,
    /// Why drops cannot be watched, if they were asked for. Only on the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_drops: Option<Explanation>,
}

/// A packet that was to be dropped, and that may stand for others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Drop {
    /// Time in milliseconds since 1970.
    pub at: u64,
    /// Nanoseconds after the time in `at`.
    pub nanoseconds: u32,
    /// Number of drops that it stands for. Sums of weights are unbiased estimates. While few packets are dropped, it is
    /// 1.
    pub weight: u64,
    /// Number of drops before it that are not represented, because they came faster than they were read.
    #[serde(default, skip_serializing_if = "is_none_lost")]
    pub lost: u64,
    /// Source address. Missing if the frame has too many VLAN tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Destination address of a packet that is dropped because of it (reason `outbound`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The protocol: `tcp`, `udp`, `icmp`, `icmpv6` and others, or its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Source port, for protocols with ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// Destination port, for protocols with ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Interface on which it arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Name of the list that it counts for. Missing with `counters: total`, or if no list has counters for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Name of the reason, as in `Stats`.
    pub reason: String,
    /// The verdict: `drop`, `would_drop` with `enforce: false`, or `paused`.
    pub outcome: String,
    /// Length of the whole frame in bytes.
    pub bytes: u32,
    /// First bytes of the frame in hexadecimal, at most 128. Where frames have no Ethernet header, they begin with one
    /// without addresses. For users other than root they end after the last header.
    /// Missing for packets that pass because of a pause or `enforce: false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
}

/// A change: something that filterd did or was asked to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// Time in milliseconds since 1970.
    pub at: u64,
    /// Level of the log line: `info`, `warn` or `error`.
    pub level: String,
    /// The action in one word, if there is one. It is a command (`add`, `remove`, `pause`), or one of `expire`, `refresh`,
    /// `fetch`, `read`, `reload`, `attach` and `detach`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// The address or prefix that it concerns; if there are several, the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Lists that it concerns or has changed, as many as fit in 1,500 characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<String>,
    /// Text of the log line: `add 203.0.113.7`.
    pub what: String,
    /// Fields of the log line: `user`, `process`, `list`, `changed` and others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Value>,
}

impl Reply {
    /// Makes a line without an event.
    pub fn new() -> Self {
        Self { version: super::VERSION, ..Self::default() }
    }
}

impl Request {
    /// Returns whether this event is asked for.
    pub fn wants(&self, event: &Event) -> bool {
        self.list.as_ref().is_none_or(|list| event.lists.iter().any(|name| name == list.as_str()))
    }

    /// Returns whether this drop is asked for.
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
    /// A watch may be silent for a very long time.
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
