//! What of the entries that were read is meant for this filterd's live lists, and what is left out, by reason.

use std::collections::BTreeMap;

use filter_common::target::Target;
use serde::Serialize;

use super::{Fault, Item};
use crate::command::render::figure::counted_as;
use crate::config::ListName;
use crate::config::name::{MANUAL_ALLOW_LIST, MANUAL_LIST};
use crate::control::wire::entry::LIVE;
use crate::control::wire::import::Own;
use crate::control::wire::lists::List;
use crate::control::wire::words::LONGEST_TTL;
use crate::source::Special;
use crate::source::special;
use crate::text::Explanation;

/// Where an entry goes, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct To {
    /// Its list; the usual one if none.
    pub list: Option<ListName>,
    /// Does that allow?
    pub allow: bool,
    /// Was a wide prefix meant?
    pub wide: bool,
}

/// What is asked for beside what is written.
#[derive(Debug)]
pub struct Asked {
    /// The list for all that blocks.
    pub list: Option<ListName>,
    /// The end of what has none.
    pub until: Option<u64>,
    /// What is meant beside what nobody doubts.
    pub special: Special,
    /// The time.
    pub now: u64,
}

/// Entries that were left out.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Left {
    /// Their time was over.
    #[serde(skip_serializing_if = "is_zero")]
    pub over: u64,
    /// Special ranges, as a whole or in part.
    #[serde(skip_serializing_if = "is_zero")]
    pub special: u64,
    /// They block on some ports only, which no live list does.
    #[serde(skip_serializing_if = "is_zero")]
    pub on_ports: u64,
    /// By list: those of the configuration here, which bring their entries themselves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub configured: BTreeMap<String, u64>,
    /// By list: those which no command may fill, or which do the opposite here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Goes through entries.
#[derive(Debug)]
pub struct Sifting {
    asked: Asked,
    /// Of each list that there is: is it live, and does it allow?
    lists: BTreeMap<String, (bool, bool)>,
    left: Left,
}

impl Sifting {
    /// For a filterd that has these lists.
    pub fn new(asked: Asked, lists: &[List]) -> Self {
        // The configuration's own lists are there even where it puts nothing on them.
        let is_there = |list: &&List| list.kind == LIVE || list.entries > 0 || !is_reserved(&list.name);
        let known = lists.iter().filter(is_there);
        let known = known.map(|list| (list.name.clone(), (list.kind == LIVE, list.allows)));
        Self { asked, lists: known.collect(), left: Left::default() }
    }

    /// What is to be sent of an entry, and where to.
    pub fn sift(&mut self, item: Item) -> Result<Option<(To, Vec<Target>, Own)>, Fault> {
        let Item { span, allow, mut own, is_ours, .. } = item;
        own.until = own.until.or(self.asked.until);
        if own.until.is_some_and(|until| until <= self.asked.now) {
            self.left.over += 1;
            return Ok(None);
        }
        if own.until.is_some_and(|until| until > self.asked.now + LONGEST_TTL.as_secs()) {
            return Err(format!("{span} ends in more than ten years"));
        }
        let list = self.asked.list.clone().filter(|_| !allow).or(item.list);
        if !self.is_open(list.as_ref(), allow) {
            return Ok(None);
        }
        if item.on_ports {
            self.left.on_ports += 1;
            return Ok(None);
        }
        // Whoever exported it had it in force.
        let meant = if is_ours { Special::INCLUDED } else { self.asked.special };
        if let Some(wide) = span.into_iter().find(|target| meant.doubts(*target)) {
            return Err(format!("{wide} is wider than a /8, or a /16 of IPv6: if that is meant, say --wide"));
        }
        let targets = if meant.included { span.into_iter().collect() } else { self.plain(span) };
        Ok(Some((To { list, allow, wide: meant.wide }, targets, own)))
    }

    /// Without what is special.
    fn plain(&mut self, span: impl IntoIterator<Item = Target>) -> Vec<Target> {
        let mut targets = Vec::new();
        for target in span {
            match special::without(target) {
                None => targets.push(target),
                Some(rest) => {
                    self.left.special += 1;
                    targets.extend(rest.iter());
                }
            }
        }
        targets
    }

    /// May commands fill that list, and does it do what the entry wants?
    fn is_open(&mut self, list: Option<&ListName>, allow: bool) -> bool {
        // Of a list that was named on the command line, filterd itself says why not.
        let Some(name) = list.filter(|_| allow || self.asked.list.is_none()) else { return true };
        let usual = if allow { MANUAL_ALLOW_LIST } else { MANUAL_LIST };
        let left = match self.lists.get(name.as_str()) {
            Some((true, allows)) if *allows == allow => return true,
            Some((false, allows)) if *allows == allow => &mut self.left.configured,
            None if !name.is_reserved() || name.as_str() == usual => return true,
            Some(_) | None => &mut self.left.refused,
        };
        *left.entry(name.to_string()).or_default() += 1;
        false
    }

    /// What was left out.
    pub fn left(self) -> Left {
        self.left
    }
}

impl Left {
    /// What is as it should be, and yet worth telling.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend((self.over > 0).then(|| format!("{} left out: their time is over", entries(self.over))));
        notes.extend((self.special > 0).then(|| {
            format!(
                "{} taken out, as a whole or in part: private, loopback and other special ranges (--include-special takes them, too)",
                entries(self.special)
            )
        }));
        notes.extend(self.configured.iter().map(|(list, count)| {
            format!("{} left to list `{list}`, which the configuration has here", entries(*count))
        }));
        notes
    }

    /// What was asked for and not done.
    pub fn faults(&self) -> Vec<Explanation> {
        let mut faults: Vec<_> = self
            .refused
            .iter()
            .map(|(list, count)| {
                Explanation::new(
                    format!(
                        "{} of list `{list}` left out: no command fills it here, or it does the opposite",
                        entries(*count)
                    ),
                    "what blocks goes to another list with --list NAME",
                )
            })
            .collect();
        faults.extend((self.on_ports > 0).then(|| {
            Explanation::new(
                format!(
                    "{} left out: they block on some ports only, which no live list does",
                    entries(self.on_ports)
                ),
                "write their list into the configuration, with its ports",
            )
        }));
        faults
    }
}

fn is_reserved(name: &str) -> bool {
    name.parse().is_ok_and(|name: ListName| name.is_reserved())
}

fn entries(count: u64) -> String {
    counted_as(count, ["entry", "entries"])
}
