//! `io.filterd.Test`: show whether addresses and prefixes are dropped, and why.

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::strings::Strings;
use super::{Entry, Failure, Idle, Method, parts, words};

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Addresses and prefixes to look up.
    pub addresses: Strings,
}

/// The parameters after they were checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The targets; none is IPv4-mapped.
    pub targets: Vec<Target>,
}

/// The answers for all addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// One answer for each address of the request, in that order.
    pub tested: Vec<Tested>,
    /// End of the pause, if protection is paused, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<u64>,
    /// End of the trial, if a reload is on trial. No other reload is accepted before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_trial_until: Option<u64>,
    /// Whether replies to what this host initiated pass (`match: new`), although everything else of a dropped source is
    /// dropped.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replies_pass: bool,
}

/// The answer for one address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tested {
    /// The address or prefix of the request.
    pub address: String,
    /// Whether every packet from there is dropped now; with `replies_pass`, all but replies to what this host
    /// initiated.
    pub dropped: bool,
    /// For a prefix: whether packets from a part of it are dropped.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partly: bool,
    /// Why no packet of a listed source is dropped at the moment, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// If it is dropped: interfaces that exist and are not filtered, while others are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Ports, if it is not dropped on all: `on port 22 only`, or `on all but port 443`. `a part of it` comes first if
    /// more of a prefix is dropped on others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// All entries that block it, the longest prefix first.
    pub because: Vec<Entry>,
    /// Packets to it, if an entry blocks these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<TestedTo>,
    /// All entries that allow it, the longest prefix first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<Entry>,
    /// For a prefix: the first entries that block a part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Entry>,
    /// For a prefix: the first entries that allow a part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_within: Vec<Entry>,
    /// Whether there are more entries within it than these, or than were looked at.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more: bool,
    /// An address on which the kernel and the block list differ. The kernel's answer is what happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disagrees: Option<String>,
    /// Files that still have it, although its time on their lists is over: first lists that block, then lists that
    /// allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expired: Vec<Expired>,
    /// Files of the lists in `because`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Commands and other steps that would make it pass. The client writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<String>,
}

/// The answer for packets to an address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestedTo {
    /// Whether every packet to it is dropped now.
    pub dropped: bool,
    /// For a prefix: whether packets to a part of it are dropped.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partly: bool,
    /// All entries that block these packets, the longest prefix first.
    pub because: Vec<Entry>,
    /// For a prefix: the first entries that block packets to a part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Entry>,
}

/// A target that a file still has, although its time on the list is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Expired {
    /// The address or prefix.
    pub target: String,
    /// Name of the list.
    pub list: String,
    /// Whether the list allows. Entries that block the target then block it again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allows: bool,
}

/// The file of a list of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct File {
    /// Name of the list.
    pub list: String,
    /// Path of the file.
    pub path: String,
}

fn is_false(is_so: &bool) -> bool {
    !is_so
}

impl Method for Test {
    const NAME: &'static str = "io.filterd.Test";
    type Request = Request;
    type Reply = Reply;

    fn check(self) -> Result<Request, Failure> {
        Ok(Request { targets: words::tested(&self.addresses)? })
    }

    fn parts(reply: Reply) -> Vec<Reply> {
        let weight = |one: &Tested| {
            let entries = [&one.because, &one.allowed_by, &one.within, &one.allowed_within];
            1 + entries.into_iter().map(Vec::len).sum::<usize>() + one.expired.len() + 6 * one.files.len()
        };
        let Reply { tested, paused_until, on_trial_until, replies_pass } = reply;
        let part = |tested| Reply { tested, paused_until, on_trial_until, replies_pass };
        parts::split(tested, weight).map(part).collect()
    }
}
