//! `io.filterd.Refresh`: download lists now, and read them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Counts, Deed, Failure, Method, words};
use crate::config::{ListName, MOST_LISTS};
use crate::text::Explanation;

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Refresh {
    /// Names of the lists. Default: all that have a `url`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<String>,
}

/// The changes that the downloads made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// Number of targets that are newly blocked, for all these lists together.
    pub entered: u64,
    /// Number of targets that are no longer blocked.
    pub left: u64,
    /// Number of targets that are newly allowed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub allowed: u64,
    /// Number of targets that are no longer allowed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub disallowed: u64,
    /// Warnings for the user, such as lines that were not understood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The lists, in the order of the configuration.
    pub lists: Vec<Refreshed>,
    /// Lists in force that have no copy on disk. They would be lost with the download.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<Explanation>,
}

/// What happened to a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Refreshed {
    /// Name of the list.
    pub list: String,
    /// What happened to the list.
    pub outcome: Outcome,
    /// Number of entries on it now.
    pub entries: u64,
    /// Address of the download, without a query. Missing if the list is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The last download. Missing if it failed, or the list is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// Why it differs from its source, and the remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Explanation>,
}

/// A download from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Transfer {
    /// Status of the answer: 200, or 304 if nothing has changed.
    pub status: u16,
    /// Number of bytes that arrived, unpacked.
    pub bytes: u64,
    /// Time from the first request to the last byte, with redirects, in milliseconds.
    pub milliseconds: u64,
}

/// What happened to a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The list has changed.
    Changed,
    /// The list has not changed.
    Unchanged,
    /// The new version is not accepted, and the previous version stays in force.
    HeldBack,
    /// The download of the list failed.
    NotFetched,
    /// The list is downloaded, and takes effect when the reload on trial is confirmed; after a rollback, at the next
    /// download.
    Waits,
    /// The new version could not be put in force.
    NotInForce,
    /// The list was removed from the configuration in the meantime.
    Gone,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

impl Method for Refresh {
    const NAME: &'static str = "io.filterd.Refresh";
    const MAY_CUT: bool = true;
    /// A download may take an hour, and reading takes some time.
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
