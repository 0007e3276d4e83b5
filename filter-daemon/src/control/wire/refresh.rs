//! `io.filterd.Refresh`: fetch lists now, and read them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Counts, Deed, Failure, Method, words};
use crate::config::{ListName, MOST_LISTS};
use crate::text::Explanation;

/// As it travels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Refresh {
    /// Which lists; all that are fetched if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<String>,
}

/// What has come of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Targets that entered the filter, of all these lists together.
    pub entered: u64,
    /// Targets that left it.
    pub left: u64,
    /// Targets that came to be allowed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub allowed: u64,
    /// Targets that are allowed no longer.
    #[serde(default, skip_serializing_if = "is_none")]
    pub disallowed: u64,
    /// What the operator should know, such as lines not understood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The lists, in the configuration's order.
    pub lists: Vec<Refreshed>,
    /// What is in force, but has no copy on disk: it would not survive what was fetched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<Explanation>,
}

/// What has become of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Refreshed {
    /// Its name.
    pub list: String,
    /// What has become of it.
    pub outcome: Outcome,
    /// How many entries are on it now.
    pub entries: u64,
    /// Where it is fetched from, without what a query says; none of a list that is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What was sent when it was last fetched; none where that failed, or it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// Why it is not what its source has, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Explanation>,
}

/// What a server has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Transfer {
    /// How it answered: 200, or 304 where nothing has changed.
    pub status: u16,
    /// How many bytes came, unpacked.
    pub bytes: u64,
    /// How long it took from the first question to the last byte, redirects among it, in milliseconds.
    pub milliseconds: u64,
}

/// What has become of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is another from now on.
    Changed,
    /// It is as it was.
    Unchanged,
    /// What has come is not believed.
    HeldBack,
    /// It could not be fetched.
    NotFetched,
    /// It is fetched, and comes into force when what is on trial is confirmed; after a rollback, when it is fetched next.
    Waits,
    /// It could not be put in force.
    NotInForce,
    /// It went out of the configuration meanwhile.
    Gone,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

impl Method for Refresh {
    const NAME: &'static str = "io.filterd.Refresh";
    const MAY_CUT: bool = true;
    /// As long as a fetch may take, and some time to read it.
    const MAY_TAKE: Duration = Duration::from_secs(2 * 60 * 60);
    type Request = Vec<ListName>;
    type Reply = Reply;

    fn check(self) -> Result<Vec<ListName>, Failure> {
        if self.lists.len() > MOST_LISTS {
            let message = format!("{} lists to refresh: name at most {MOST_LISTS}", self.lists.len());
            return Err(Failure::InvalidRequest(message.into()));
        }
        let names: Result<_, String> = self.lists.iter().map(|name| words::list_name(name)).collect();
        names.map_err(|error| Failure::Unparsable(error.into()))
    }

    fn deed(lists: &Vec<ListName>) -> Option<Deed> {
        let one = lists.first().filter(|_| lists.len() == 1);
        Some(Deed::about("lists refresh", &[], one))
    }

    fn counts(reply: &Reply) -> Counts {
        let Reply { entered, left, allowed, disallowed, .. } = *reply;
        let (changed, is_volatile) = (entered + left + allowed + disallowed, !reply.not_kept.is_empty());
        Counts { changed, entered, left, allowed, disallowed, is_volatile, ..Counts::default() }
    }
}
