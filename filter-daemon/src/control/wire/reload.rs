//! `io.filterd.Reload`: read the configuration and the lists again, and apply the difference.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::accept::Accept;
use super::{Counts, Deed, Failure, Fault, Method, words};
use crate::config::MOST_LISTS;
use crate::text::Explanation;

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reload {
    /// Names of lists to accept as they are (`all` means every list), and of interfaces that may be missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// Seconds for which the reload is on trial. It is rolled back then, unless it is confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<u64>,
}

/// The parameters after they were checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Lists and interfaces that are accepted.
    pub accept: Accept,
    /// How long the reload is on trial, if it is.
    pub confirm: Option<Duration>,
    /// The user who asks.
    pub by: String,
}

/// The changes that a reload made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Number of targets that are newly blocked.
    pub entered: u64,
    /// Number of targets that are no longer blocked.
    pub left: u64,
    /// Number of targets that are newly allowed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub allowed: u64,
    /// Number of targets that are no longer allowed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub disallowed: u64,
    /// Number of lists that did not change: neither name and entries, nor their meaning and their `ttl`.
    pub unchanged: u64,
    /// Time it took until all lists had copies on disk, in milliseconds. A reload on trial does not wait for copies.
    pub milliseconds: u64,
    /// Warnings for the user, such as lines that were not understood.
    pub warnings: Vec<String>,
    /// The new value of `enforce`, if it changed: whether the filter drops, or only counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce: Option<bool>,
    /// Other settings that changed, with their new values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Lists that have a new name and continue as before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<Renamed>,
    /// Names of lists that are new in the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    /// Names of lists that are no longer in the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Names of interfaces that are newly filtered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
    /// Names of interfaces that are no longer filtered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detached: Vec<String>,
    /// Faults of interfaces that are not as the configuration says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Lists of which the previous version stays in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldBack>,
    /// End of the trial, if the reload is on trial. It is rolled back then, unless it is confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_until: Option<u64>,
    /// Lists and settings in force that have no copy on disk. They would be lost with their file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<Explanation>,
}

/// A list that has a new name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Renamed {
    /// Previous name of the list.
    pub from: String,
    /// New name of the list.
    pub to: String,
}

/// A list of which the previous version stays in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeldBack {
    /// Name of the list.
    pub list: String,
    /// Time since which that is so, in seconds since 1970.
    pub since: u64,
    /// The reason, the version in force, and the remedy.
    #[serde(flatten)]
    pub told: Explanation,
}

/// The end of a remedy that asks for a reload. During a trial, no other reload is accepted.
#[must_use]
pub const fn then_reload(is_on_trial: bool) -> &'static str {
    match is_on_trial {
        false => "then `filterd reload`",
        true => {
            "then `filterd confirm` or `filterd rollback`, since a reload is on trial, and `filterd reload`"
        }
    }
}

impl Reply {
    /// Returns the settings and lists that changed, in words.
    #[must_use]
    pub fn switched(&self) -> Vec<String> {
        let enforce = self.enforce.map(|enforce| match enforce {
            true => "enforce: true now, packets are dropped",
            false => "enforce: false now, packets are only counted, NONE IS DROPPED",
        });
        let renamed = self.renamed.iter().map(|Renamed { from, to }| format!("list {from}: called {to} now"));
        // A removed list comes first, because another list may have its name now.
        let gone = some(&self.gone, "no longer in the configuration");
        let switched = enforce.into_iter().map(str::to_owned).chain(gone).chain(renamed);
        let switched = switched.chain(some(&self.new, "new"));
        switched.chain(self.settings.iter().cloned()).collect()
    }

    /// Returns the lists that are new, removed or renamed.
    #[must_use]
    pub fn lists(&self) -> Vec<String> {
        let renamed = self.renamed.iter().flat_map(|Renamed { from, to }| [from, to]);
        renamed.chain(&self.new).chain(&self.gone).cloned().collect()
    }
}

/// The most lists that one line names; others are counted.
const MOST_NAMED: usize = 10;

fn some(lists: &[String], what: &str) -> Option<String> {
    let (named, more) = lists.split_at(lists.len().min(MOST_NAMED));
    let (lists, named) = (if lists.len() == 1 { "list" } else { "lists" }, named.join(", "));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    (!named.is_empty()).then(|| format!("{lists} {named}{more}: {what}"))
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

impl Method for Reload {
    const NAME: &'static str = "io.filterd.Reload";
    const MAY_CUT: bool = true;
    type Request = Request;
    type Reply = Reply;
    /// A reload reads all lists again, which takes time.
    const MAY_TAKE: Duration = Duration::from_secs(600);

    fn check(self) -> Result<Request, Failure> {
        if self.accept.len() > MOST_LISTS {
            let message = format!("{} names to accept: say at most {MOST_LISTS}", self.accept.len());
            return Err(Failure::InvalidRequest(message.into()));
        }
        let names: Result<_, String> = self.accept.iter().map(|name| name.parse()).collect();
        let accept = names.map(Accept::of).map_err(|error| Failure::Unparsable(error.into()))?;
        let confirm = self.confirm.map(words::trial).transpose()?;
        Ok(Request { accept, confirm, by: String::new() })
    }

    fn sign(request: &mut Request, who: impl FnOnce(&str) -> String) {
        if request.confirm.is_some() {
            request.by = who("reload");
        }
    }

    fn deed(request: &Request) -> Option<Deed> {
        let verb = if request.confirm.is_some() { "reload --confirm" } else { "reload" };
        Some(Deed { ttl: request.confirm, ..Deed::about(verb, &[], None) })
    }

    fn counts(reply: &Reply) -> Counts {
        let Reply { entered, left, allowed, disallowed, .. } = *reply;
        Counts {
            changed: entered + left + allowed + disallowed,
            entered,
            left,
            allowed,
            disallowed,
            settings: reply.switched(),
            lists: reply.lists(),
            attached: reply.attached.clone(),
            detached: reply.detached.clone(),
            troubles: Vec::new(),
            is_volatile: !reply.not_kept.is_empty(),
            is_in_vain: false,
        }
    }
}
