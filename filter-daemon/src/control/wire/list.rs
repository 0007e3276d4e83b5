//! `io.filterd.List`: what is blocked, or what is allowed, page by page.

use std::time::Duration;

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::{Entry, Failure, Method, parts, words};
use crate::config::ListName;

/// How many entries one page is asked for.
pub const PAGE: usize = 4096;

/// As it travels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only entries of this list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Only this family: 4 or 6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<u8>,
    /// Only entries of this target and of those within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Only entries that expire within so many seconds, those that do so first at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiring: Option<u64>,
    /// What is allowed, rather than what is blocked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow: bool,
}

/// One page: the entries of the next targets, in ascending order of target, or of their end and then of target; all entries
/// of a target together, or those that end at the same time. It may have few of them, or none, where many targets have to be
/// looked at to find them.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Only entries of this list.
    pub list: Option<ListName>,
    /// Only this family.
    pub family: Option<Family>,
    /// Only this target and those within it.
    pub within: Option<Target>,
    /// Only what expires within that time, in the order of time.
    pub expiring: Option<Duration>,
    /// What is allowed, rather than what is blocked.
    pub allow: bool,
    /// Only what sorts after this; from the first if none.
    pub after: Option<Place>,
    /// How many targets make a page.
    pub most: usize,
}

/// Where a page ends, in the order in which it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// When the last entry expires, in seconds of the daemon's own time, where that is the order.
    pub end: Option<u64>,
    /// Its target.
    pub target: Target,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    Four,
    /// IPv6.
    Six,
}

/// A page, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Its entries.
    pub entries: Vec<Entry>,
    /// Behind which target the next page begins; for the daemon's end only.
    #[serde(skip)]
    pub next: Option<Place>,
}

impl Method for List {
    const NAME: &'static str = "io.filterd.List";
    type Request = Request;
    type Reply = Reply;

    fn check(self) -> Result<Request, Failure> {
        Ok(Request {
            list: words::optional(self.list, words::list_name)?,
            family: self.family.map(family).transpose()?,
            within: words::optional(self.within, words::target)?,
            expiring: self.expiring.map(words::expiring).transpose()?,
            allow: self.allow,
            after: None,
            most: PAGE,
        })
    }

    fn bookmark(request: &Request) -> Option<Request> {
        Some(request.clone())
    }

    fn next_page(asked: Request, reply: &Reply) -> Option<Request> {
        // An owner that repeats itself must not be asked for ever.
        let next = reply.next.filter(|next| asked.after.is_none_or(|after| *next > after))?;
        Some(Request { after: Some(next), ..asked })
    }

    fn parts(reply: Reply) -> Vec<Reply> {
        parts::split(reply.entries, |_| 1).map(|entries| Reply { entries, next: None }).collect()
    }
}

fn family(number: u8) -> Result<Family, Failure> {
    match number {
        4 => Ok(Family::Four),
        6 => Ok(Family::Six),
        _ => Err(Failure::InvalidRequest(format!("family {number}: there are 4 and 6").into())),
    }
}
