//! `io.filterd.Flush`: remove all entries of live lists.

use serde::{Deserialize, Serialize};

use super::{Changed, Counts, Deed, Failure, Method, words};
use crate::config::ListName;

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flush {
    /// Name of the only live list to empty. Default: all live lists that block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
}

/// The parameters after they were checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Name of the only live list to empty. Default: all live lists that block.
    pub list: Option<ListName>,
}

impl Method for Flush {
    const NAME: &'static str = "io.filterd.Flush";
    type Request = Request;
    type Reply = Changed;

    fn check(self) -> Result<Request, Failure> {
        Ok(Request { list: words::optional(self.list, words::list_name)? })
    }

    fn deed(request: &Request) -> Option<Deed> {
        Some(Deed::about("flush", &[], request.list.as_ref()))
    }

    fn counts(reply: &Changed) -> Counts {
        reply.into()
    }
}
