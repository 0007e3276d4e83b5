//! `io.filterd.Import`: add entries to a live list, each with its own end and note.

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::own::Own;
use super::strings::Strings;
use super::{Changed, Counts, Deed, Failure, Method, add, words};

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// Addresses or prefixes, but no ranges.
    pub targets: Strings,
    /// Name of the live list to add to. Default: `manual`, or `manual-allow` for what is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Whether the entries allow instead of block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow: bool,
    /// The end and note of each target, in the same order. Default: no target has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Own>,
    /// Whether prefixes shorter than /8 (IPv4) or /16 (IPv6) are accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wide: bool,
}

/// The parameters after they were checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// An add of all these entries.
    pub add: add::Request,
    /// Whether the entries allow instead of block.
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
