//! `io.filterd.Diff`: show the changes that a reload would make, and which peers of this host it would cut off.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reload::HeldBack;
use super::{Failure, Fault, Method, parts};

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Diff {}

/// The most entries that a reply names, of all lists together; all are counted.
pub const MOST_ENTRIES: usize = 100_000;

/// The most peers that a reply names; all are counted.
pub const MOST_CUT: usize = 1000;

/// The changes that a reload would make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Lists that would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<ListDifference>,
    /// Number of lists of the configuration that would not change, as in `unchanged` of a reload.
    pub unchanged: u64,
    /// The new value of `enforce`, if it would change: whether the filter drops, or only counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce: Option<bool>,
    /// Interfaces that would be attached. A driver says whether it takes the filter only when it is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attach: Vec<String>,
    /// The mode that would be tried for them: `auto` (native, else TC), `native` or `tc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach_mode: Option<String>,
    /// Interfaces that would no longer be filtered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detach: Vec<String>,
    /// Other settings that would change, with their new values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Faults of interfaces: those that would not be filtered, and those that filterd would keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Lists of which filterd would keep the previous version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldBack>,
    /// Lists of which nothing was downloaded yet, so their content is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_fetched: Vec<String>,
    /// Number of peers that were looked at.
    pub peers: u64,
    /// Number of peers that would be cut off; during a pause, once it ends.
    pub cuts: u64,
    /// End of the pause, if protection is paused, in seconds since 1970. A reload does not end a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<u64>,
    /// End of the trial, if a reload is on trial. No other reload is accepted before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_trial_until: Option<u64>,
    /// The peers that would be cut off (the first thousand).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<Cut>,
    /// Peers that would be cut off when the entry that allows them after the reload ends, with that time (the first
    /// thousand).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_later: Vec<Cut>,
    /// Warnings about lists that would newly block targets that many hosts need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Guarded addresses that an entry would newly block. They still pass (the first thousand).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarded: Vec<Stays>,
    /// Places in which peers could not be looked for, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// Entries that would be added or removed (the first of them).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryDifference>,
}

/// A list that would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListDifference {
    /// New name of the list; if it would be removed, its present name.
    pub name: String,
    /// Present name of the list, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Ports on which it would block, if not on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// Ports on which it blocks now, if that would change: `all`, or as in `ports`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports_before: Option<String>,
    /// The direction in which it would block: `out` or `both`. Default: `in`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// The direction in which it blocks now, if that would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction_before: Option<String>,
    /// Whether the list would allow instead of block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// Whether it allows now, if that would change. Removed entries are those that it blocks, or allows, now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_before: Option<bool>,
    /// Whether the list does not exist now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// Whether the list would be removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Number of entries that would be added.
    pub come: u64,
    /// Number of entries that would be removed.
    pub go: u64,
}

/// An entry that would be added or removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EntryDifference {
    /// New name of its list; if the list would be removed, its present name.
    pub list: String,
    /// The target that the entry blocks or allows.
    pub target: String,
    /// Whether the entry allows instead of blocks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// Whether its list would be removed. Another list may have the name then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Whether the entry would be added; otherwise it would be removed.
    pub comes: bool,
}

/// A peer that would be cut off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cut {
    /// Address of the peer.
    pub address: String,
    /// Relations of the peer to this host.
    pub is: Vec<Role>,
    /// The entry that would block it.
    pub target: String,
    /// Name of the list of that entry.
    pub list: String,
    /// Time until which it is allowed, if it would be cut off then, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_until: Option<u64>,
}

/// A guarded address that an entry names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stays {
    /// The address that is guarded.
    pub address: String,
    /// The reason why it is guarded.
    pub why: String,
    /// The entry that would block it.
    pub target: String,
    /// Name of the list of that entry.
    pub list: String,
}

/// The relation of a peer to this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Role {
    /// `name_server`, `gateway`, `client` (it connected to a port of this host), or `server` (this host connected to
    /// its port).
    pub role: String,
    /// The protocol: `tcp` or `udp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The port: of this host for a client, of the peer for a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Number of connections with the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
}

impl Reply {
    /// Returns whether a reload would change nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let switches = self.enforce.is_some() || !self.settings.is_empty();
        self.lists.is_empty() && self.attach.is_empty() && self.detach.is_empty() && !switches
    }
}

impl Method for Diff {
    const NAME: &'static str = "io.filterd.Diff";
    const MAY_CUT: bool = true;
    type Request = ();
    type Reply = Reply;
    /// A reload reads all lists again, which takes time.
    const MAY_TAKE: Duration = Duration::from_secs(600);

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    /// The first part has everything, the others only entries.
    fn parts(mut reply: Reply) -> Vec<Reply> {
        let mut pages = parts::split(std::mem::take(&mut reply.entries), |_| 1);
        reply.entries = pages.next().unwrap_or_default();
        let further = pages.map(|entries| Reply { entries, ..Reply::default() });
        std::iter::once(reply).chain(further).collect()
    }
}
