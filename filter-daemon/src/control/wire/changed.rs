//! The reply of methods that add or remove entries.

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::guarded::Guarded;
use super::held::Held;
use super::idle::Idle;
use crate::text::Explanation;

/// The result of adding or removing entries. Ranges count as the prefixes that they make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Changed {
    /// Number of targets in the request.
    pub named: u64,
    /// Number of targets whose entry on the list changed.
    pub changed: u64,
    /// Number of targets that are newly blocked; with `Allow`, newly allowed.
    pub entered: u64,
    /// Number of targets that are no longer blocked; with `Disallow`, no longer allowed.
    pub left: u64,
    /// Why no packet of a listed source is dropped at the moment, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// After an add: interfaces that exist and are not filtered, while others are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Why the change is in force but not on disk, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_durable: Option<Explanation>,
    /// After a remove: targets that are still blocked, as a whole or in part, and by what (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
    /// After a remove: end of the trial of a reload, if one is on trial. No other reload is accepted before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_trial_until: Option<u64>,
    /// After an add of few targets: entries that block one of them, or a part, on all ports for longer than requested
    /// (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longer: Vec<Entry>,
    /// After an add or allow of few targets: number of targets that wider entries already block on all ports, or allow.
    #[serde(default, skip_serializing_if = "is_none")]
    pub covered: u64,
    /// These wider entries, and entries that block on some ports only (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covered_by: Vec<Entry>,
    /// After an add, or a remove of targets that are still blocked: number of targets that are allowed as a whole, and
    /// therefore not dropped.
    #[serde(default, skip_serializing_if = "is_none")]
    pub allowed: u64,
    /// After an add of few targets: entries that allow one of them, or a part of it (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<Entry>,
    /// After an add: number of targets that are guarded as a whole and were left out. The other counts do not include
    /// them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub refused: u64,
    /// The first of the guarded targets that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarded: Vec<Guarded>,
    /// After an add: guarded addresses within the targets, which still pass (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<Guarded>,
    /// After an add to a list with `ipv6_prefix`: number of targets that block a wider prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widened: Option<Widened>,
    /// After an add: warnings about targets that may be a mistake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// After an add: number of targets that many hosts need, by owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needed: Vec<Needed>,
    /// After an allow, or the end of one, of few targets: entries that block one of them, or a part of it (the first
    /// hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Entry>,
    /// After a flush: whether the list allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// After a flush: number of removed targets that other entries still block on all ports, or allow. `left` does not
    /// include them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub still: u64,
    /// After a flush: the lists that were emptied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<Emptied>,
    /// The lists that changed, for those who watch. The client that asked does not need them.
    #[serde(skip)]
    pub touched: Vec<String>,
}

impl Changed {
    /// Above this number of targets, a reply counts targets that many hosts need, and does not name them.
    pub const MOST_NAMED_ONE_BY_ONE: u64 = 1000;
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// Targets on a list with `ipv6_prefix` that block more than they name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Widened {
    /// Number of these targets.
    pub count: u64,
    /// Length of the prefix that each of them blocks.
    pub length: u8,
}

/// Targets that many hosts need, such as public resolvers and networks of CDNs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Needed {
    /// The owner of these targets: `of Google's public resolvers`.
    pub whose: String,
    /// Number of these targets.
    pub count: u64,
}

/// A list that a flush has emptied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Emptied {
    /// Name of the list.
    pub name: String,
    /// Number of entries that it had.
    pub entries: u64,
}
