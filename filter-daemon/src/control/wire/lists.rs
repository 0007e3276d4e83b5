//! `io.filterd.Lists`: every list, and what is known of it.

use serde::{Deserialize, Serialize};

use super::hits::Hits;
use super::{Failure, Method};
use crate::text::Explanation;

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lists {}

/// Every list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Since when packets are counted for lists, in seconds since 1970; they are not if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_since: Option<u64>,
    /// Over how many seconds rates are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_over: Option<f64>,
    /// Packets for lists that have no counters of their own, because others come before them: of all these together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Hits>,
    /// Packets for lists that are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Hits>,
    /// In the configuration's order, then those that commands made, the oldest first.
    pub lists: Vec<List>,
}

/// One list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct List {
    /// Its name.
    pub name: String,
    /// `config`, `file`, `url` (a file that is fetched), `live` (what commands added), or `host` (what this host needs).
    pub kind: String,
    /// Does it allow, rather than block?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// On which ports it blocks, if not on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// Guarded addresses that it names, or is around: they pass all the same.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub guarded: u64,
    /// How many entries it has.
    pub entries: u64,
    /// How many it had at most within the last seven days, if its source has become shorter since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<u64>,
    /// How many of these another list with the same ports has, too.
    pub shared: u64,
    /// Lines that were not understood when it was last read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejected: u64,
    /// The first of these lines: where each is, and what is wrong with it. What it says `filterd check` shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// What its file was read as (`plain`, `csv` …), if it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// Entries of it that were left out as a whole or in part: private, loopback and other special ranges.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub special: u64,
    /// Entries that its file still names though their time on the list is over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub expired: u64,
    /// Packets that are counted for it. Of what several lists have, they are counted for the first of these, those without `ports` before those with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<Hits>,
    /// Since when they are counted for this name, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// How many of them there were a second of late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// They are among `other`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counted_with_others: bool,
    /// When its file was last written, in seconds since 1970, as far as it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
    /// When what was last believed of its file was read, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Why it is not what its file says, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Trouble>,
    /// Its file, or where it is fetched from, without what may be a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// How it is fetched, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetching: Option<Fetching>,
}

/// How a list is fetched. All times are in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fetching {
    /// When what is here came; never if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched: Option<u64>,
    /// When its server last said that this is what there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<u64>,
    /// When it is fetched next.
    pub next: u64,
    /// It is being fetched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub now: bool,
    /// Why it could not be fetched last, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Trouble>,
}

/// Why a list is not what its file says, since when, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trouble {
    /// In seconds since 1970.
    pub since: u64,
    /// What is wrong, and what to do about it.
    #[serde(flatten)]
    pub told: Explanation,
}

/// A list takes less than twenty kilobytes on the line, if its faults name a path as long as may be and every byte of it has
/// to be escaped.
pub const MOST_LISTS: usize = 32;

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Method for Lists {
    const NAME: &'static str = "io.filterd.Lists";
    type Request = ();
    type Reply = Reply;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    fn parts(reply: Reply) -> Vec<Reply> {
        let Reply { lists, .. } = &reply;
        if lists.is_empty() {
            return vec![reply];
        }
        lists.chunks(MOST_LISTS).map(|lists| Reply { lists: lists.to_vec(), ..head(&reply) }).collect()
    }

    fn join(come: &mut Reply, part: Reply) {
        come.lists.extend(part.lists);
    }
}

/// All but the lists.
fn head(reply: &Reply) -> Reply {
    let Reply { version, counted_since, rate_over, other, gone, .. } = *reply;
    Reply { version, counted_since, rate_over, other, gone, lists: Vec::new() }
}
