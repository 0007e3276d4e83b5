//! The origins of decisions, their lists, and how many decisions each has.

use std::collections::BTreeMap;
use std::sync::Arc;

use filter_common::ports::Clause;

use crate::blocklist::{name_end, split};
use crate::crowdsec::list_name::list_of;

/// Origins without decisions are forgotten while there are more than this many.
const MOST: usize = 1000;

/// The list of an origin, and the number of its decisions.
#[derive(Debug)]
struct OriginRecord {
    list: Arc<str>,
    decisions: u64,
}

/// All origins that have or had decisions, of one LAPI.
#[derive(Debug)]
pub struct OriginTable {
    source: String,
    /// What the names of its lists end in.
    end: String,
    origins: BTreeMap<Arc<str>, OriginRecord>,
}

impl OriginTable {
    /// No origins yet, for the LAPI of this name, whose decisions block on these ports.
    pub fn new(source: &str, ports: Option<Clause>) -> Self {
        Self { source: source.to_owned(), end: name_end(ports), origins: BTreeMap::new() }
    }

    /// Sets the ports for all lists from now on. Returns whether they have changed.
    pub fn set_ports(&mut self, ports: Option<Clause>) -> bool {
        let end = name_end(ports);
        if self.end == end {
            return false;
        }
        self.end = end;
        // Those with decisions come back with them.
        self.origins.clear();
        true
    }

    /// The list with the present ports that takes the place of this one.
    pub fn in_place_of(&self, list: &Arc<str>) -> Arc<str> {
        let (beginning, _) = split(list);
        if list.strip_prefix(beginning) == Some(&self.end) {
            return list.clone();
        }
        format!("{beginning}{}", self.end).into()
    }

    /// The list for decisions of this origin.
    pub fn list(&self, origin: &str) -> Arc<str> {
        let known = self.origins.get(origin).map(|record| Arc::clone(&record.list));
        known.unwrap_or_else(|| format!("{}{}", list_of(&self.source, origin), self.end).into())
    }

    /// Counts a decision of this origin.
    pub fn add(&mut self, origin: &Arc<str>, list: &Arc<str>) {
        let new = || OriginRecord { list: Arc::clone(list), decisions: 0 };
        self.origins.entry(Arc::clone(origin)).or_insert_with(new).decisions += 1;
    }

    /// Counts one decision less.
    pub fn remove(&mut self, origin: &str) {
        if let Some(record) = self.origins.get_mut(origin) {
            record.decisions -= 1;
            if record.decisions == 0 && self.origins.len() > MOST {
                self.origins.remove(origin);
            }
        }
    }

    /// Each origin with its list and the number of its decisions, sorted by origin.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, u64)> {
        let all = self.origins.iter().filter(|(_, record)| record.decisions > 0);
        all.map(|(origin, record)| (origin, &record.list, record.decisions))
    }

    /// Each origin with its list, also origins without decisions.
    pub fn known(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.origins.iter().map(|(origin, record)| (origin, &record.list))
    }
}
