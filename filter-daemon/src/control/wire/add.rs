//! `io.filterd.Add`: block these targets.

use std::time::Duration;

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::own::Own;
use super::strings::Strings;
use super::{Changed, Counts, Deed, Failure, Method, words};
use crate::config::ListName;

/// As it travels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Addresses, prefixes or `a-b` ranges.
    pub targets: Strings,
    /// The live list they go to; the default one if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Seconds until they expire; never if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// Why, in the operator's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Does what the list blocks for longer end then, too?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shorten: bool,
    /// Is a prefix shorter than /8, or than /16 of IPv6, meant?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wide: bool,
}

/// As it is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What to block; may name a target twice.
    pub targets: Vec<Target>,
    /// The live list they go to; the default one if none.
    pub list: Option<ListName>,
    /// How long; permanently if none.
    pub ttl: Option<Duration>,
    /// Why.
    pub note: Option<String>,
    /// What each target says of its own, in place of `ttl` and `note`; nothing if none does.
    pub own: Vec<Own>,
    /// Does what the list blocks for longer end then, too?
    pub shorten: bool,
    /// Is a prefix shorter than /8, or than /16 of IPv6, meant?
    pub wide: bool,
    /// Who asks: user and command.
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
