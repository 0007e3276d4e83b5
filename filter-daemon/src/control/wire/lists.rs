//! `io.filterd.Lists`: show all lists with their state.

use serde::{Deserialize, Serialize};

use super::hits::{Hits, is_zero};
use super::{Failure, Method};
use crate::text::Explanation;

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lists {}

/// All lists with their state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Time since which packets are counted for lists, in seconds since 1970. Missing with `counters: total`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_since: Option<u64>,
    /// Length in seconds of the time over which rates are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_over: Option<f64>,
    /// Packets of all lists without counters of their own, because too many other lists come before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Hits>,
    /// Packets of lists that no longer exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Hits>,
    /// All lists, in the order of the configuration, then live lists, the oldest first.
    pub lists: Vec<ListDetails>,
}

/// A list with its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListDetails {
    /// Name of the list.
    pub name: String,
    /// `config`, `file`, `url` (a downloaded file), `live` (filled by commands), `remote` (follows CrowdSec), or `host` (what this host depends on).
    pub kind: String,
    /// Whether the list allows instead of blocks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// Ports on which it blocks, if not on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// `out` if it blocks packets to its addresses, `both` if packets from and to them. Default: packets from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Number of guarded addresses that it names or that lie within its prefixes. They still pass.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub guarded: u64,
    /// Number of entries of the list.
    pub entries: u64,
    /// Largest number of entries within the last seven days, if the source has become shorter since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<u64>,
    /// Number of entries that another list with the same ports has, too.
    pub shared: u64,
    /// Number of lines that were not understood when it was last read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejected: u64,
    /// The first of these lines: its place, and what is wrong with it. `filterd check` shows their content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Format of its file (`plain`, `csv` …), if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// Number of entries that were left out as a whole or in part: private, loopback and other special ranges.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub special: u64,
    /// Number of entries that its file still has, although their time is over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub expired: u64,
    /// Packets that count for it. If several lists have an entry, they count for the first one, and lists without
    /// `ports` come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<Hits>,
    /// Time since which packets count for this name, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Packets per second in the last seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Whether its packets are among `other`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counted_with_others: bool,
    /// Time at which its file was last written, in seconds since 1970, as far as filterd read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
    /// Time at which the version in force was read, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Why it differs from its file, and the remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Trouble>,
    /// Its file, or the `url` without parts that may be secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// State of its downloads, if it has a `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetching: Option<Fetching>,
}

/// State of the downloads of a list. Times are in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fetching {
    /// Time at which this version was downloaded. Missing if nothing was downloaded yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched: Option<u64>,
    /// Time at which its server last confirmed this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<u64>,
    /// Time of the next download.
    pub next: u64,
    /// Whether a download is running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub now: bool,
    /// Why the last download failed, and the remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Trouble>,
}

/// Why a list differs from its file, since when, and the remedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trouble {
    /// Time of its beginning, in seconds since 1970.
    pub since: u64,
    /// The problem and its remedy.
    #[serde(flatten)]
    pub told: Explanation,
}

/// The most lists on one line. A list takes less than twenty kilobytes, even if its faults name the longest path and
/// every byte is escaped.
pub const MOST_LISTS: usize = 32;

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

/// The first part has everything but most lists.
fn head(reply: &Reply) -> Reply {
    let Reply { version, counted_since, rate_over, other, gone, .. } = *reply;
    Reply { version, counted_since, rate_over, other, gone, lists: Vec::new() }
}
