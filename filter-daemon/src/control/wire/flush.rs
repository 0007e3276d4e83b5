//! `io.filterd.Flush`: remove everything that was added live.

use serde::{Deserialize, Serialize};

use super::{Changed, Counts, Deed, Failure, Method, words};
use crate::config::ListName;

/// As it travels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flush {
    /// Only this live list; every live list if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
}

/// As it is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Only this live list; every live list if none.
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
