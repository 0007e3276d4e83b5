//! `io.filterd.Diff`: what would a reload change, and which live peers of this host would it cut?

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reload::HeldBack;
use super::{Failure, Fault, Method, parts};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Diff {}

/// Entries that are told one by one, of all lists together; all are counted.
pub const MOST_ENTRIES: usize = 100_000;

/// Peers that are told one by one; all are counted.
pub const MOST_CUT: usize = 1000;

/// What a reload would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Lists that would be others than they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<ListDifference>,
    /// Lists of the configuration that would stay as they are: as `unchanged` of a reload has it.
    pub unchanged: u64,
    /// What it would be from then on, if it would be switched: does the filter drop, or only count?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce: Option<bool>,
    /// Interfaces that would be attached to. Whether their drivers take the filter is known only when they are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attach: Vec<String>,
    /// How that would be tried, if there are any: `auto` (native, else generic), `native` or `generic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach_mode: Option<String>,
    /// Interfaces that would no longer be filtered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detach: Vec<String>,
    /// Other settings that would change, and what they would be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// What of the interfaces would not be as the configuration says: what would not be filtered, and what would be held back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Lists that would not be what their files say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldBack>,
    /// Lists of which nothing was fetched yet: what would come of them is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_fetched: Vec<String>,
    /// How many live peers were looked at.
    pub peers: u64,
    /// How many of them would be cut; while protection is paused, once it is not.
    pub cuts: u64,
    /// Until when protection is paused, if it is, in seconds since 1970. A reload does not end that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<u64>,
    /// Until when a reload is on trial, if one is: no other is taken before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_trial_until: Option<u64>,
    /// The first of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<Cut>,
    /// Those who would be cut when what allows them after the reload has ended, each with when that is (the first thousand).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_later: Vec<Cut>,
    /// What the operator may not have meant: lists that would newly block what many hosts need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Guarded addresses that nothing blocks now and something would: they stay (the first thousand).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarded: Vec<Stays>,
    /// Where peers could not be looked for, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// The first entries that would come or go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryDifference>,
}

/// A list that would be another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListDifference {
    /// Its name from then on; of one that would be gone, now.
    pub name: String,
    /// What it is called now, if that is another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// On which ports it would block, if not on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// On which ports it blocks now, if that is to change: `all`, or as in `ports`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports_before: Option<String>,
    /// It allows what it names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// Does it allow now what it names, if that is to change? What goes is what it blocks, or allows, now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_before: Option<bool>,
    /// It is not there now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// It would not be there any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// How many entries would come onto it.
    pub come: u64,
    /// How many would go from it.
    pub go: u64,
}

/// An entry that would come or go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EntryDifference {
    /// The name of its list: from then on, or, of one that would not be there any more, now.
    pub list: String,
    /// What it blocks, or allows.
    pub target: String,
    /// It would be allowed, or would not be any more, rather than blocked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// Its list would not be there any more, and another one may have its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Would it come? Else it would go.
    pub comes: bool,
}

/// A live peer that would be cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cut {
    /// Its address.
    pub address: String,
    /// What it is to this host.
    pub is: Vec<Role>,
    /// The entry that would block it.
    pub target: String,
    /// The list of that entry.
    pub list: String,
    /// Until when it is allowed, if it would be cut then, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_until: Option<u64>,
}

/// A guarded address that something names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stays {
    /// The address.
    pub address: String,
    /// Why it is guarded.
    pub why: String,
    /// The entry that would block it.
    pub target: String,
    /// The list of that entry.
    pub list: String,
}

/// What a peer is to this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Role {
    /// `name_server`, `gateway`, `client` (it came to a port of ours), or `server` (we went to a port of its).
    pub role: String,
    /// `tcp` or `udp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The port: ours of a client, its own of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How many connections there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
}

impl Reply {
    /// Would nothing be as it is?
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
    /// It reads every list again.
    const MAY_TAKE: Duration = Duration::from_secs(600);

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    /// Everything but the entries is in the first.
    fn parts(mut reply: Reply) -> Vec<Reply> {
        let mut pages = parts::split(std::mem::take(&mut reply.entries), |_| 1);
        reply.entries = pages.next().unwrap_or_default();
        let further = pages.map(|entries| Reply { entries, ..Reply::default() });
        std::iter::once(reply).chain(further).collect()
    }
}
