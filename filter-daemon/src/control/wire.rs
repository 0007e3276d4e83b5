//! What travels over the control socket: one JSON object a line, shaped like Varlink's messages.
//!
//! A request is `{"method":"io.filterd.Add","parameters":{…}}`, a reply `{"parameters":{…}}`, with
//! `"continues":true` where more follow, or `{"error":"io.filterd.Refused","parameters":{"message":…}}`.
//! Targets travel as text; whoever receives them parses them.

use serde::{Deserialize, Serialize};

use super::strings::Strings;

/// Raised when a field changes its meaning; new fields may come without it.
pub const VERSION: u32 = 1;

/// The longest line either side accepts, and so the most that one client can make the daemon hold.
pub const LONGEST_LINE: usize = 1 << 20;

/// The most targets one message carries: a full one stays far below [`LONGEST_LINE`].
pub const MOST_TARGETS: usize = 8192;

/// The most addresses one test carries, so that their answers fit the daemon's memory too.
pub const MOST_ADDRESSES: usize = 1024;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "parameters")]
pub enum Request {
    /// Block these targets.
    #[serde(rename = "io.filterd.Add")]
    Add(Add),
    /// Block them no longer.
    #[serde(rename = "io.filterd.Remove")]
    Remove(Remove),
    /// Is this address dropped, and why?
    #[serde(rename = "io.filterd.Test")]
    Test(Test),
    /// One page of what is blocked.
    #[serde(rename = "io.filterd.List")]
    List(List),
    /// Let go of everything that was added live.
    #[serde(rename = "io.filterd.Flush")]
    Flush(Flush),
    /// What the daemon is and how full its tables are.
    #[serde(rename = "io.filterd.Status")]
    Status(Empty),
    /// How many packets met which fate.
    #[serde(rename = "io.filterd.Stats")]
    Stats(Empty),
    /// Read the configuration again.
    #[serde(rename = "io.filterd.Reload")]
    Reload(Empty),
    /// Is anybody there?
    #[serde(rename = "io.filterd.Ping")]
    Ping(Empty),
    /// End, and leave the filter to the one who asks.
    #[serde(rename = "io.filterd.HandOver")]
    HandOver(Empty),
}

/// No parameters; `{}` on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Empty {}

/// Parameters of [`Request::Add`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Addresses, prefixes or `a-b` ranges.
    pub targets: Strings,
    /// The live list they go to; the default one if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Seconds until they are let go by themselves; never if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// Why, in the operator's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Parameters of [`Request::Remove`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Addresses, prefixes or `a-b` ranges.
    pub targets: Strings,
    /// Only out of this live list; out of every live list if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
}

/// Parameters of [`Request::Test`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Single addresses.
    pub addresses: Strings,
}

/// Parameters of [`Request::List`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only what this list wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Only this family: 4 or 6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<u8>,
}

/// Parameters of [`Request::Flush`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flush {
    /// Only this live list; every live list if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
}

/// What an add, a remove or a flush did. Counts are of targets, after ranges became prefixes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// How many targets the request named.
    pub named: u64,
    /// How many of them changed anything for the list they were named for.
    pub changed: u64,
    /// How many targets entered the filter.
    pub entered: u64,
    /// How many left it.
    pub left: u64,
    /// Targets of a remove that other lists still block, and which lists (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
}

/// A removed target that stays blocked because somebody else wants it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The target.
    pub target: String,
    /// The lists that still want it.
    pub lists: Vec<String>,
}

/// The answer for one address of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The address asked for.
    pub address: String,
    /// Is a packet from there dropped now?
    pub dropped: bool,
    /// Every entry that covers the address, the longest prefix first.
    pub because: Vec<Entry>,
}

/// One list's wish for one target. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The address or prefix.
    pub target: String,
    /// The list that wants it blocked.
    pub list: String,
    /// Since when.
    pub since: u64,
    /// Until when; for good if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Why, in the words of whoever added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What the daemon is and how full its tables are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// [`VERSION`] of this shape.
    pub version: u32,
    /// Version of the program.
    pub filterd: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// When it started, in seconds since 1970.
    pub started: u64,
    /// The configuration file, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Does it drop, or only count?
    pub enforce: bool,
    /// Where it is attached.
    pub interfaces: Vec<Interface>,
    /// How full each table is.
    pub tables: Vec<Table>,
    /// Who wants how much.
    pub lists: Vec<ListStatus>,
}

/// One interface of a status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// `native` or `generic`, or `none` if it is not filtered.
    pub mode: String,
    /// Why it is not filtered, or where it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Seconds for which it was not filtered, since filterd started.
    #[serde(default)]
    pub unprotected: u64,
    /// How often it went away.
    #[serde(default)]
    pub gaps: u64,
}

/// One table of a status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// `ipv4 addresses`, `ipv4 prefixes` or `ipv6`.
    pub name: String,
    /// Entries in it.
    pub entries: u64,
    /// How many fit before it is rebuilt larger.
    pub capacity: u64,
    /// Kernel memory it takes, in bytes.
    pub bytes: u64,
    /// In words, what an answer of this table is worth: `exact`, or its false-positive rate.
    pub certainty: String,
}

/// One list of a status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListStatus {
    /// Its name.
    pub name: String,
    /// `config`, `file` or `live`.
    pub kind: String,
    /// Targets it wants blocked.
    pub targets: u64,
    /// Lines that were not understood when it was last read.
    pub rejected: u64,
    /// Why the last attempt to read it failed; it then keeps what it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How many packets met which fate, since the filter was attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// [`VERSION`] of this shape.
    pub version: u32,
    /// Does it drop, or only count?
    pub enforce: bool,
    /// One row for each reason.
    pub reasons: Vec<Counted>,
}

/// One reason's packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The reason's stable name.
    pub reason: String,
    /// `drop` or `pass`: what becomes of such a packet while the filter enforces.
    pub verdict: String,
    /// How many packets.
    pub packets: u64,
}

/// What a reload changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reloaded {
    /// Targets that entered the filter.
    pub entered: u64,
    /// Targets that left it.
    pub left: u64,
    /// Lists that are as they were.
    pub unchanged: u64,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
    /// What the operator should know: lines not understood, lists that could not be read.
    pub warnings: Vec<String>,
}

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pong {
    /// [`VERSION`] of the protocol.
    pub version: u32,
    /// Process id of the daemon.
    pub pid: u32,
}

/// One line of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer<T> {
    /// What was asked for, or a part of it.
    pub parameters: T,
    /// Do more parts follow, each on its own line?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
}

/// What the daemon answers. Which variant belongs to which request is told by their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reply {
    /// To an add, a remove or a flush.
    Changed(Changed),
    /// To a test.
    Tested {
        /// One answer for each address asked, in that order.
        tested: Vec<Tested>,
    },
    /// To a list, one page.
    Listed {
        /// The entries of this page.
        entries: Vec<Entry>,
    },
    /// To a status.
    Status(Status),
    /// To stats.
    Stats(Stats),
    /// To a reload.
    Reloaded(Reloaded),
    /// To a ping, or to a request to hand over.
    Pong(Pong),
}

/// Why a request was not carried out. The name after `io.filterd.` is stable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "error", content = "parameters")]
pub enum Failure {
    /// A target, an address or a list name that is none.
    #[serde(rename = "io.filterd.Unparsable")]
    Unparsable(Explanation),
    /// The line is no request of this protocol, or too long.
    #[serde(rename = "io.filterd.InvalidRequest")]
    InvalidRequest(Explanation),
    /// The configuration is not valid; nothing of it was applied.
    #[serde(rename = "io.filterd.InvalidConfig")]
    InvalidConfig(Explanation),
    /// The peer's user may not ask for this.
    #[serde(rename = "io.filterd.PermissionDenied")]
    PermissionDenied(Explanation),
    /// It would do what must not be done, such as changing a list that belongs to a file.
    #[serde(rename = "io.filterd.Refused")]
    Refused(Explanation),
    /// The kernel did not do it; the old set stays.
    #[serde(rename = "io.filterd.Kernel")]
    Kernel(Explanation),
    /// It is done and works, but is not on disk: it would not survive a restart.
    #[serde(rename = "io.filterd.NotDurable")]
    NotDurable(Explanation),
    /// The daemon is stopping or overloaded.
    #[serde(rename = "io.filterd.Unavailable")]
    Unavailable(Explanation),
}

/// What failed, on what, and what to do next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// For people.
    pub message: String,
}

impl From<String> for Explanation {
    fn from(message: String) -> Self {
        Self { message }
    }
}

impl From<&str> for Explanation {
    fn from(message: &str) -> Self {
        Self { message: message.to_owned() }
    }
}

impl Failure {
    /// What failed, on what, and what to do next.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Unparsable(explanation)
            | Self::InvalidRequest(explanation)
            | Self::InvalidConfig(explanation)
            | Self::PermissionDenied(explanation)
            | Self::Refused(explanation)
            | Self::Kernel(explanation)
            | Self::NotDurable(explanation)
            | Self::Unavailable(explanation) => &explanation.message,
        }
    }

    /// The same, to be changed.
    pub fn explanation_mut(&mut self) -> &mut Explanation {
        match self {
            Self::Unparsable(explanation)
            | Self::InvalidRequest(explanation)
            | Self::InvalidConfig(explanation)
            | Self::PermissionDenied(explanation)
            | Self::Refused(explanation)
            | Self::Kernel(explanation)
            | Self::NotDurable(explanation)
            | Self::Unavailable(explanation) => explanation,
        }
    }
}
