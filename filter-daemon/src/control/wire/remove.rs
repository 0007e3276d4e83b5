//! `io.filterd.Remove`: remove targets from live lists.

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::strings::Strings;
use super::{Changed, Counts, Deed, Failure, Method, words};
use crate::config::ListName;

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Addresses, prefixes or `a-b` ranges.
    pub targets: Strings,
    /// Name of the only live list to remove from. Default: all live lists that block, or with `Disallow` allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
}

/// The parameters after they were checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The targets; may contain a target twice.
    pub targets: Vec<Target>,
    /// Name of the only live list to remove from. Default: all live lists that block, or with `Disallow` allow.
    pub list: Option<ListName>,
}

impl Method for Remove {
    const NAME: &'static str = "io.filterd.Remove";
    type Request = Request;
    type Reply = Changed;

    fn check(self) -> Result<Request, Failure> {
        Ok(Request {
            targets: words::targets(&self.targets)?,
            list: words::optional(self.list, words::list_name)?,
        })
    }

    fn deed(request: &Request) -> Option<Deed> {
        Some(Deed::about("remove", &request.targets, request.list.as_ref()))
    }

    fn counts(reply: &Changed) -> Counts {
        reply.into()
    }
}
