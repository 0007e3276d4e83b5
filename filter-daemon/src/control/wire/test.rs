//! `io.filterd.Test`: are these addresses and prefixes dropped, and why?

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::strings::Strings;
use super::{Entry, Failure, Idle, Method, parts, words};

/// As it travels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Addresses and prefixes.
    pub addresses: Strings,
}

/// As it is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// None of them IPv4-mapped.
    pub targets: Vec<Target>,
}

/// All answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// One for each address asked, in that order.
    pub tested: Vec<Tested>,
    /// Until when protection is paused, if it is, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<u64>,
    /// Until when a reload is on trial, if one is: no other is taken before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_trial_until: Option<u64>,
    /// Answers to what this host began pass, whoever sends them (`match: new`), though the rest of what he sends is dropped.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replies_pass: bool,
}

/// The answer for one address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tested {
    /// The address or prefix asked for.
    pub address: String,
    /// Is every packet from there dropped now? Where `replies_pass`, every one but answers to what this host began.
    pub dropped: bool,
    /// Of a prefix: are packets from a part of it dropped?
    #[serde(default, skip_serializing_if = "is_false")]
    pub partly: bool,
    /// Why what is listed is dropped nowhere at the moment, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Of what is dropped: interfaces that are there and not filtered, while others are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// On which ports, if not on all: what it is dropped for is `on port 22 only`, or `on all but port 443`; before that, `a
    /// part of it`, where more of a prefix is dropped on others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// Every entry that blocks it, the longest prefix first.
    pub because: Vec<Entry>,
    /// Every entry that allows it, whatever blocks it, the longest prefix first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<Entry>,
    /// Of a prefix: the first entries that block a part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Entry>,
    /// The first entries that allow a part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_within: Vec<Entry>,
    /// There are more entries within it than these, or than were looked at.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more: bool,
    /// An address of which the kernel and the blocklist do not say the same, and that the kernel is right about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disagrees: Option<String>,
    /// Files that name it still though its time on their lists is over: on those that block, and then on those that allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expired: Vec<Expired>,
    /// The files of the lists among `because`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// What would have to be done that it passes: the commands, and what else. The client writes them, so that they are
    /// its own commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<String>,
}

/// What a list's file names though its time there is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Expired {
    /// The address or prefix.
    pub target: String,
    /// The list.
    pub list: String,
    /// Does the list allow? What blocks the target then blocks it again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allows: bool,
}

/// Where a list of the configuration is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct File {
    /// The list.
    pub list: String,
    /// Its file.
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
