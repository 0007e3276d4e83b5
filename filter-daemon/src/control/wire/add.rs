//! `io.filterd.Add`: block targets.

use std::time::Duration;

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::own::Own;
use super::strings::Strings;
use super::{Changed, Counts, Deed, Failure, Method, words};
use crate::config::ListName;

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Addresses, prefixes or `a-b` ranges.
    pub targets: Strings,
    /// Name of the live list to add to. Default: `manual`, or `manual-allow` for what is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Seconds until the entries expire. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// The reason, in the user's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether entries that would last longer end after `ttl`, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shorten: bool,
    /// Whether prefixes shorter than /8 (IPv4) or /16 (IPv6) are accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wide: bool,
}

/// The parameters after they were checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The targets; may contain a target twice.
    pub targets: Vec<Target>,
    /// Name of the live list to add to. Default: `manual`, or `manual-allow` for what is allowed.
    pub list: Option<ListName>,
    /// How long the entries last; `None` is forever.
    pub ttl: Option<Duration>,
    /// The note of each entry.
    pub note: Option<String>,
    /// The end and the note of each target, instead of `ttl` and `note`; empty if no target has its own.
    pub own: Vec<Own>,
    /// Whether entries that would last longer end after `ttl`, too.
    pub shorten: bool,
    /// Whether prefixes shorter than /8 (IPv4) or /16 (IPv6) are accepted.
    pub wide: bool,
    /// The user and the command that asked.
    pub by: Option<String>,
}

impl Method for Add {
    const NAME: &'static str = "io.filterd.Add";
    const MAY_CUT: bool = true;
    type Request = Request;
    type Reply = Changed;

    fn check(self) -> Result<Request, Failure> {
        Ok(Request {
            targets: words::targets(&self.targets)?,
            list: words::optional(self.list, words::list_name)?,
            ttl: self.ttl.map(words::ttl).transpose()?,
            note: words::optional(self.note, words::note)?,
            own: Vec::new(),
            shorten: self.shorten,
            wide: self.wide,
            by: None,
        })
    }

    fn sign(request: &mut Request, who: impl FnOnce(&str) -> String) {
        request.by = Some(who("add"));
    }

    fn deed(request: &Request) -> Option<Deed> {
        let about = Deed::about("add", &request.targets, request.list.as_ref());
        Some(Deed { ttl: request.ttl, note: request.note.clone(), ..about })
    }

    fn counts(reply: &Changed) -> Counts {
        reply.into()
    }
}
