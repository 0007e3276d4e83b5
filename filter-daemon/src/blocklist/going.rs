//! Lists that a reload takes away: they give up their names at once, so that new lists may have them, and what is on them leaves
//! page by page. Whoever asks meanwhile is told of them by the names that they had.

use std::sync::Arc;

use super::ListId;
use super::list::{List, Lists};

impl List {
    /// What people call it.
    pub fn called(&self) -> &Arc<str> {
        self.was.as_ref().unwrap_or(&self.name)
    }
}

impl Lists {
    /// Gives lists other names, all at once, and takes those of `going`, which are to be taken away.
    pub fn rename_and_part(&mut self, renamed: Vec<(ListId, Arc<str>)>, going: &[ListId]) {
        let were: Vec<_> = going.iter().map(|id| (*id, self.get(*id).called().clone())).collect();
        // No list can be called so.
        let parted = going.iter().map(|id| (*id, format!("{} (removed)", self.get(*id).name).into()));
        let all: Vec<_> = renamed.into_iter().chain(parted).collect();
        self.rename(all);
        were.into_iter().for_each(|(id, was)| self.row(id).was = Some(was));
    }

    /// All that are called so, of which one may be there while others go.
    pub fn all_called<'a>(&'a self, name: &'a str) -> impl Iterator<Item = ListId> + 'a {
        self.iter().filter(move |(_, list)| &**list.called() == name).map(|(id, _)| id)
    }

    /// Does this one go while another one has its name?
    pub fn is_replaced(&self, list: &List) -> bool {
        list.was.as_ref().is_some_and(|was| self.find(was).is_some())
    }

    /// How many entries there are at least on the lists that are called like this one and mean the same to who is on them.
    pub fn entries_called(&self, list: &List) -> u64 {
        let is_same = |other: &&List| other.called() == list.called() && other.polarity == list.polarity;
        let going = self.iter().map(|(_, other)| other).filter(|other| other.was.is_some());
        going.filter(is_same).map(|other| other.entries).fold(list.entries, u64::max)
    }
}
