//! `io.filterd.Import`: put these entries on a live list, each with an end and a note of its own.

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::own::Own;
use super::strings::Strings;
use super::{Changed, Counts, Deed, Failure, Method, add, words};

/// As it travels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// Addresses or prefixes.
    pub targets: Strings,
    /// The live list they go to; the default one if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Is it what is allowed, rather than what is blocked?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow: bool,
    /// What each target says of its own, in the same order; if there is nothing here, none of them says anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Own>,
    /// Is a prefix shorter than /8, or than /16 of IPv6, meant?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wide: bool,
}

/// As it is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The same as an add of all of them.
    pub add: add::Request,
    /// Is it what is allowed, rather than what is blocked?
    pub allow: bool,
}

impl Method for Import {
    const NAME: &'static str = "io.filterd.Import";
    const MAY_CUT: bool = true;
    type Request = Request;
    type Reply = Changed;

    fn check(self) -> Result<Request, Failure> {
        let targets: Vec<Target> = words::imported(&self.targets)?;
        if !self.own.is_empty() && self.own.len() != targets.len() {
            let message = format!("{} targets, and {} say something", targets.len(), self.own.len());
            return Err(Failure::InvalidRequest(message.into()));
        }
        let own = self.own.into_iter().map(|Own { until, note }| {
            let until = until.map(words::end).transpose()?;
            Ok(Own { until, note: words::optional(note, words::note)? })
        });
        let own = own.collect::<Result<_, Failure>>()?;
        let list = words::optional(self.list, words::list_name)?;
        let add = add::Request {
            targets,
            list,
            ttl: None,
            note: None,
            own,
            shorten: false,
            wide: self.wide,
            by: None,
        };
        Ok(Request { add, allow: self.allow })
    }

    fn sign(request: &mut Request, who: impl FnOnce(&str) -> String) {
        request.add.by = Some(who("import"));
    }

    fn deed(Request { add, .. }: &Request) -> Option<Deed> {
        Some(Deed::about("import", &add.targets, add.list.as_ref()))
    }

    fn counts(reply: &Changed) -> Counts {
        reply.into()
    }
}
