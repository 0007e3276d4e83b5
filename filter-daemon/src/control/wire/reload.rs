//! `io.filterd.Reload`: read the configuration again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::accept::Accept;
use super::{Counts, Deed, Failure, Fault, Method, words};
use crate::config::MOST_LISTS;
use crate::text::Explanation;

/// As it travels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reload {
    /// Lists that are to be taken as they are (`all` stands for every one), and interfaces that need not be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// What it brings is on trial for so many seconds, and then rolled back, unless it is confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<u64>,
}

/// As it is carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Which lists are to be taken as they are.
    pub accept: Accept,
    /// For how long what it brings is on trial, if it is.
    pub confirm: Option<Duration>,
    /// Who asks.
    pub by: String,
}

/// What a reload changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Targets that entered the filter.
    pub entered: u64,
    /// Targets that left it.
    pub left: u64,
    /// Targets that came to be allowed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub allowed: u64,
    /// Targets that are allowed no longer.
    #[serde(default, skip_serializing_if = "is_none")]
    pub disallowed: u64,
    /// Lists of the configuration that are as they were: by name, by what is on them, and by what that means and how long it stays.
    pub unchanged: u64,
    /// How long it took, in milliseconds, until there were copies of its lists on disk; what is on trial does not wait for them.
    pub milliseconds: u64,
    /// What the operator should know, such as lines not understood.
    pub warnings: Vec<String>,
    /// What it is from now on, if it was switched: does it drop, or only count?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce: Option<bool>,
    /// Other settings that have changed, and what they are now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Lists that are called otherwise from now on, and go on as they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<Renamed>,
    /// Lists that the configuration did not name before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    /// Lists that it names no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Interfaces that are filtered from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
    /// Interfaces that are no longer filtered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detached: Vec<String>,
    /// What of the interfaces is not as the configuration says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Lists that are not what their files say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldBack>,
    /// Until when it is on trial, if it is: then it is rolled back, unless it was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_until: Option<u64>,
    /// What is in force, but has no copy on disk: it would not survive its file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<Explanation>,
}

/// A list with another name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Renamed {
    /// What it was called.
    pub from: String,
    /// What it is called now.
    pub to: String,
}

/// A list that is not what its file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeldBack {
    /// Its name.
    pub list: String,
    /// Since when it is so, in seconds since 1970.
    pub since: u64,
    /// Why, what is in force instead, and what to do.
    #[serde(flatten)]
    pub told: Explanation,
}

/// What takes what was changed in the configuration, as a remedy says it behind that: while a reload is on trial, no other is
/// taken.
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
    /// What was switched, in words.
    #[must_use]
    pub fn switched(&self) -> Vec<String> {
        let enforce = self.enforce.map(|enforce| match enforce {
            true => "enforce: true now, packets are dropped",
            false => "enforce: false now, packets are only counted, NONE IS DROPPED",
        });
        let renamed = self.renamed.iter().map(|Renamed { from, to }| format!("list {from}: called {to} now"));
        // One that goes is told before another may be said to have its name.
        let gone = some(&self.gone, "no longer in the configuration");
        let switched = enforce.into_iter().map(str::to_owned).chain(gone).chain(renamed);
        let switched = switched.chain(some(&self.new, "new"));
        switched.chain(self.settings.iter().cloned()).collect()
    }

    /// The lists that have come, gone, or got other names.
    #[must_use]
    pub fn lists(&self) -> Vec<String> {
        let renamed = self.renamed.iter().flat_map(|Renamed { from, to }| [from, to]);
        renamed.chain(&self.new).chain(&self.gone).cloned().collect()
    }
}

/// Lists that are told by name in one line; more are counted.
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
    /// It reads every list again.
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
        }
    }
}
