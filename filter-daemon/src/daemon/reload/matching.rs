//! Matches the lists of a new configuration to those in force. A list that was renamed, or whose file was
//! moved, continues.

use std::sync::Arc;
use std::time::Duration;

use crate::blocklist::{Meaning, Polarity, Reach};
use crate::config::ListConfig;
use crate::plan::Continued;
use crate::source::database;
use crate::source::reading::{SourceReading, SourceStamp};
use crate::source::trouble::ListFallback;

/// A list of the configuration in force or, at a start, a list that has a copy.
#[derive(Clone, Debug)]
pub struct KnownList {
    /// What a list of the configuration continues with it. With a copy, that is new.
    pub continues: Continued,
    pub name: Arc<str>,
    /// The polarity, ports and reach of its entries. Copies of an earlier filterd do not store it.
    pub meaning: Option<Meaning>,
    /// The number of its entries in force.
    pub entries: u64,
    /// The last reading of its file.
    pub reading: SourceReading,
}

/// Finds for each of `lists` the one of `known` that it continues; each is used at most once. Lists with the
/// same name and file match first, then those with the same file, then those with the same name.
pub fn match_up<'a>(known: &'a [KnownList], lists: &[ListConfig]) -> Vec<Option<&'a KnownList>> {
    type ListMatch = fn(&KnownList, &ListConfig) -> bool;
    let has_name: ListMatch = |known, list| &*known.name == list.name.as_str();
    // Many lists can be selected from one database.
    let has_path: ListMatch =
        |known, list| known.reading.path == list.path && !known.is_of_another_choice(list);
    let has_both: ListMatch =
        |known, list| &*known.name == list.name.as_str() && known.reading.path == list.path;
    let mut free: Vec<&KnownList> = known.iter().collect();
    let mut found: Vec<Option<&KnownList>> = vec![None; lists.len()];
    for is_same in [has_both, has_path, has_name] {
        for (found, list) in found.iter_mut().zip(lists).filter(|(found, _)| found.is_none()) {
            let at = free.iter().position(|known| is_same(known, list));
            *found = at.map(|at| free.remove(at));
        }
    }
    found
}

impl KnownList {
    /// Whether another selection of the database of `list` was read.
    pub fn is_of_another_choice(&self, list: &ListConfig) -> bool {
        let stamp = self.reading.accepted.as_ref().and_then(|accepted| accepted.stamp);
        let chosen = list.how.database.as_ref().zip(stamp);
        chosen.is_some_and(|(database, stamp)| database::is_of_another_choice(stamp, database))
    }

    /// Whether the accepted file is another one, or has changed since.
    pub fn is_of_another_file(&self, stamp: Option<SourceStamp>) -> bool {
        self.reading.accepted.as_ref().is_some_and(|accepted| accepted.stamp != stamp)
    }

    /// Whether `list` gives its entries another meaning than this list. An unknown meaning counts as equal.
    pub fn is_turned_by(&self, list: &ListConfig) -> bool {
        self.meaning.is_some_and(|was| was.is_other_than(&meaning_of(list)))
    }

    /// The earlier meaning, if this list has entries and `list` exchanges block and allow.
    pub fn reversed_by(&self, list: &ListConfig) -> Option<Meaning> {
        self.meaning.filter(|was| self.entries > 0 && was.is_reverse_of(&meaning_of(list)))
    }

    /// How long its entries stay on it, as far as known.
    pub fn ttl(&self) -> Option<Duration> {
        let term = self.reading.accepted.as_ref().and_then(|accepted| accepted.term);
        self.reading.ttl.or_else(|| term.map(|term| term.ttl))
    }

    /// Whether `list` is read with the same options, as far as known.
    pub fn is_read_as(&self, list: &ListConfig) -> bool {
        !self.is_in_force() || self.reading.how == list.how.to_string()
    }

    /// Whether it was longer recently.
    pub fn has_peaks(&self) -> bool {
        self.reading.accepted.as_ref().is_some_and(|accepted| !accepted.peaks.is_empty())
    }

    /// The entries that stay in force if its file is not accepted.
    pub fn instead(&self) -> ListFallback {
        self.reading.accepted.as_ref().map_or(ListFallback::Stays(self.entries), ListFallback::from)
    }

    /// A copy of this record that forces its file to be read again.
    pub fn unread(&self) -> Self {
        Self { reading: SourceReading { stamp: None, ..self.reading.clone() }, ..self.clone() }
    }

    /// A copy of this record without its copy on disk.
    pub fn uncopied(&self) -> Self {
        let mut unread = self.unread();
        if let Some(accepted) = &mut unread.reading.accepted {
            accepted.stamp = None;
        }
        unread
    }

    /// Whether it is a list in force, and not only a copy.
    pub const fn is_in_force(&self) -> bool {
        self.continues.same().is_some()
    }

    /// The record for a list whose ports change. This is a new list, and there may be a copy of it. If not,
    /// it begins with the entries of the old one.
    pub fn turned(&self) -> Self {
        let unread = self.unread();
        let entries = unread.reading.accepted.as_ref().map_or(self.entries, |accepted| accepted.entries);
        let continues = self.continues.same().map_or(Continued::New, Continued::Turned);
        Self { continues, entries, ..unread }
    }
}

/// The polarity, ports and reach of the entries of `list`.
pub const fn meaning_of(list: &ListConfig) -> Meaning {
    let polarity = if list.allows { Polarity::Allow } else { Polarity::Block };
    Meaning { polarity, ports: list.ports, direction: list.direction, reach: Reach::to(list.ipv6_prefix) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocklist::{Blocklist, Change, ListId, Origin, Timestamp};
    use crate::source::{Limits, ReadOptions};
    use filter_common::direction::Direction;

    fn known(lists: &[(&str, &str)]) -> Vec<KnownList> {
        let mut blocklist = Blocklist::default();
        let known = lists.iter().map(|(name, path)| KnownList {
            continues: Continued::Same(made(name, &mut blocklist)),
            name: (*name).into(),
            meaning: None,
            entries: 0,
            reading: SourceReading { path: path.into(), ..SourceReading::default() },
        });
        known.collect()
    }

    fn made(name: &str, blocklist: &mut Blocklist) -> ListId {
        let meaning = Meaning::plain(Polarity::Block);
        let make = Change::Make { name: name.into(), origin: Origin::File, meaning };
        blocklist.apply(&make, Timestamp::default()).unwrap().made.unwrap()
    }

    fn matched(before: &[(&str, &str)], now: &[(&str, &str)]) -> Vec<Option<String>> {
        let list = |(name, path): &(&str, &str)| ListConfig {
            name: name.parse().unwrap(),
            path: path.into(),
            feed: None,
            allows: false,
            limits: Limits::default(),
            how: ReadOptions::default(),
            ttl: None,
            ipv6_prefix: 128,
            ports: None,
            direction: Direction::In,
        };
        let lists: Vec<ListConfig> = now.iter().map(list).collect();
        let known = known(before);
        match_up(&known, &lists).into_iter().map(|known| Some(known?.name.to_string())).collect()
    }

    #[test]
    fn renamed_or_moved_list_continues() {
        let before = [("drop", "drop.txt"), ("bad", "bad.txt")];
        let now = [("spamhaus", "drop.txt"), ("bad", "worse.txt"), ("new", "new.txt")];
        assert_eq!(matched(&before, &now), [Some("drop".into()), Some("bad".into()), None]);
    }

    #[test]
    fn list_renamed_and_moved_at_once_is_new() {
        assert_eq!(matched(&[("drop", "drop.txt")], &[("spamhaus", "spamhaus.txt")]), [None]);
    }

    #[test]
    fn two_lists_can_swap_names() {
        let before = [("one", "1.txt"), ("two", "2.txt")];
        let now = [("two", "1.txt"), ("one", "2.txt")];
        assert_eq!(matched(&before, &now), [Some("one".into()), Some("two".into())]);
    }

    #[test]
    fn lists_of_one_file_are_distinguished() {
        let before = [("one", "1.txt")];
        let now = [("copy", "1.txt"), ("one", "1.txt")];
        assert_eq!(matched(&before, &now), [None, Some("one".into())]);
    }
}
