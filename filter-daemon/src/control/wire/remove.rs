//! `io.filterd.Remove`: block these targets no longer.

use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use super::strings::Strings;
use super::{Changed, Failure, Method, words};
use crate::config::ListName;

/// As it travels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Addresses, prefixes or `a-b` ranges.
    pub targets: Strings,
    /// Only out of this live list; out of every live list if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
}

/// As it is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What to remove; may name a target twice.
    pub targets: Vec<Target>,
    /// Only out of this live list; out of every live list if none.
    pub list: Option<ListName>,
}

/// A target that was to be removed and is still blocked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The target.
    pub target: String,
    /// The lists that still block it.
    pub lists: Vec<String>,
    /// The entries that block it, or a part of it. Empty from daemons that only know the lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<HeldBy>,
}

/// An entry that keeps a target blocked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldBy {
    /// The entry's target: the one that was to be removed, one around it, or one within it.
    pub target: String,
    /// The entry's list.
    pub list: String,
    /// Where the list comes from: `config`, `file` or `live`, as in a status.
    pub origin: String,
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
}
