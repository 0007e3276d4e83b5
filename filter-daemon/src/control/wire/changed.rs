//! What an add, a remove or a flush did.

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::guarded::Guarded;
use super::held::Held;
use super::idle::Idle;
use crate::text::Explanation;

/// Counts are of targets, after ranges became prefixes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Changed {
    /// How many targets the request named.
    pub named: u64,
    /// How many of them changed anything for the list they were named for.
    pub changed: u64,
    /// How many targets came to be blocked; of an allow: to be allowed.
    pub entered: u64,
    /// How many are so no longer.
    pub left: u64,
    /// Why what is listed is dropped nowhere at the moment, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Of an add: interfaces that are there and not filtered, while others are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// It is done, but not on disk: why, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_durable: Option<Explanation>,
    /// Targets of a remove that are still blocked, as a whole or in part, and by what (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
    /// Of a remove: until when a reload is on trial, if one is: no other is taken before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_trial_until: Option<u64>,
    /// Of an add of few targets: entries that block one of them, or a part of it, on all ports for longer than was asked
    /// (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longer: Vec<Entry>,
    /// Of an add of few targets: how many of them wider entries block anyway, on all ports; of an allow: allow.
    #[serde(default, skip_serializing_if = "is_none")]
    pub covered: u64,
    /// Those entries, and those that block on some ports only, wider or not (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covered_by: Vec<Entry>,
    /// Of an add, and of a remove of what is held: how many of its targets are allowed as a whole, and so are not dropped.
    #[serde(default, skip_serializing_if = "is_none")]
    pub allowed: u64,
    /// Of an add of few targets: entries that allow one of them, or a part of it (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<Entry>,
    /// Of an add: how many of its targets are guarded as a whole, and so were left out. The others are counted above.
    #[serde(default, skip_serializing_if = "is_none")]
    pub refused: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarded: Vec<Guarded>,
    /// Of an add: guarded addresses within its targets, which pass all the same (the first hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<Guarded>,
    /// Of an add to a list that widens what it blocks of IPv6: how many of its targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widened: Option<Widened>,
    /// Of an add: what the operator may not have meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Of an add: how many of its targets many hosts need, by whose they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needed: Vec<Needed>,
    /// Of an allow, and of the end of one, of few targets: entries that block one of them, or a part of it (the first
    /// hundred).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Entry>,
    /// Of a flush: it was a list that allows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// Of a flush: prefixes are left, which may cover some of what left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_covered: bool,
    /// Of a flush: the lists that were emptied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<Emptied>,
    /// The lists in which anything changed: whoever watches is told, and whoever asked knows enough without.
    #[serde(skip)]
    pub touched: Vec<String>,
}

impl Changed {
    /// More was named than this: what many hosts need is counted, and not named one by one.
    pub const MOST_NAMED_ONE_BY_ONE: u64 = 1000;
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// Targets for the sake of which more than they name is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Widened {
    /// How many they are.
    pub count: u64,
    /// The length of prefix that is blocked for each.
    pub length: u8,
}

/// Targets that many hosts need: public resolvers, networks of CDNs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Needed {
    /// Whose they are: `of Google's public resolvers`.
    pub whose: String,
    /// How many they are.
    pub count: u64,
}

/// A list that was emptied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Emptied {
    /// Its name.
    pub name: String,
    /// How many entries it had.
    pub entries: u64,
}
