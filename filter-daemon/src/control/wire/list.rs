//! `io.filterd.List`: show entries that block, or entries that allow, page by page.

use std::time::Duration;

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::{Entry, Failure, Method, parts, words};
use crate::config::ListName;

/// Number of entries that a page may have.
pub const PAGE: usize = 4096;

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only entries of this list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Only this address family: 4 or 6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<u8>,
    /// Only entries of this target, and of targets within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Only entries that expire within this many seconds, the earliest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiring: Option<u64>,
    /// Show entries that allow instead of entries that block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow: bool,
}

/// One page has the entries of the next targets, in ascending order of target, or of end and then target. All entries
/// of a target are on one page, or all that end at the same time. A page may have few entries or none, because a page
/// looks at a limited number of targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Only entries of this list.
    pub list: Option<ListName>,
    /// Only this address family.
    pub family: Option<Family>,
    /// Only this target, and targets within it.
    pub within: Option<Target>,
    /// Only entries that expire within this time, in order of time.
    pub expiring: Option<Duration>,
    /// Show entries that allow instead of entries that block.
    pub allow: bool,
    /// Only entries after this place; `None` starts at the first.
    pub after: Option<PagePosition>,
    /// Number of targets in a page.
    pub most: usize,
}

/// The end of a page, in the order of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PagePosition {
    /// End of the last entry, in seconds of the daemon's own time, if entries are in order of time.
    pub end: Option<u64>,
    /// Target of the last entry.
    pub target: Target,
}

/// A family of addresses: IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The family of IPv4 addresses.
    Four,
    /// The family of IPv6 addresses.
    Six,
}

/// A page, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Entries of the page.
    pub entries: Vec<Entry>,
    /// The end of this page, for the daemon only.
    #[serde(skip)]
    pub next: Option<PagePosition>,
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
        // A place must grow from page to page, so that this ends even if the owner repeats itself.
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
