//! Lists that a reload removes. They give up their names at once, so that new lists can use these, and
//! their entries leave page by page. Queries meanwhile show them by their old names.

use std::sync::Arc;

use super::ListId;
use super::list::{ListInfo, ListRegistry};

impl ListInfo {
    /// The name to show: that of a list on removal is its old one.
    pub fn called(&self) -> &Arc<str> {
        self.was.as_ref().unwrap_or(&self.name)
    }
}

impl ListRegistry {
    /// Renames lists, all at once, and marks those of `going` for removal.
    pub(super) fn rename_and_part(&mut self, renamed: Vec<(ListId, Arc<str>)>, going: &[ListId]) {
        let were: Vec<_> = going.iter().map(|id| (*id, self.get(*id).called().clone())).collect();
        // No list can have such a name.
        let parted = going.iter().map(|id| (*id, format!("{} (removed)", self.get(*id).name).into()));
        let all: Vec<_> = renamed.into_iter().chain(parted).collect();
        self.rename(all);
        were.into_iter().for_each(|(id, was)| self.row(id).was = Some(was));
    }

    /// All lists shown by this name: a current one, and others on removal.
    pub fn all_called<'a>(&'a self, name: &'a str) -> impl Iterator<Item = ListId> + 'a {
        self.iter().filter(move |(_, list)| &**list.called() == name).map(|(id, _)| id)
    }

    /// True if it is on removal and another list has its name.
    pub fn is_replaced(&self, list: &ListInfo) -> bool {
        list.was.as_ref().is_some_and(|was| self.find(was).is_some())
    }

    /// The number of entries of the largest list of this name and polarity, among this one and those on
    /// removal.
    pub fn entries_called(&self, list: &ListInfo) -> u64 {
        let is_same = |other: &&ListInfo| other.called() == list.called() && other.polarity == list.polarity;
        let going = self.iter().map(|(_, other)| other).filter(|other| other.was.is_some());
        going.filter(is_same).map(|other| other.entries).fold(list.entries, u64::max)
    }
}
