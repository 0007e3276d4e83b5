//! The lists: one row for each, with everything that is known of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use filter_common::sets::{SetName, Slot};
use filter_common::target::Target;

use super::numbers::Numbers;
use super::{Polarity, Reach, Reading, Spent, Targets};

/// The most lists there may be that commands fill; those of the configuration are limited there. Each costs every address that
/// all of them name, so that ten thousand would be felt.
pub const MOST_LIVE_LISTS: usize = 1000;

/// Number of a list, for as long as it has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(u16);

impl ListId {
    /// None sorts before it.
    pub(super) const FIRST: Self = Self(0);
    /// None sorts behind it.
    pub(super) const LAST: Self = Self(u16::MAX);

    /// It, as an index.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a list comes from, and so who may change it and where it survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `block:` in the configuration, which is read again at every start.
    Config,
    /// A file that the configuration names, which is read again at every start.
    File,
    /// Commands, while the daemon runs: the journal keeps what they said.
    Live,
    /// This host itself, by what the daemon finds out of it while it runs: nobody else changes it.
    Host,
}

impl Origin {
    /// Its stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::File => "file",
            Self::Live => "live",
            Self::Host => "host",
        }
    }

    /// Must the journal keep what becomes of its lists?
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Live)
    }
}

/// One list.
#[derive(Clone, Debug)]
pub struct List {
    /// Its name: nobody else has it.
    pub name: Arc<str>,
    /// What it was called, once it is to go: another one may be called so by now.
    pub(super) was: Option<Arc<str>>,
    /// Where it comes from.
    pub origin: Origin,
    /// What it means to be on it.
    pub polarity: Polarity,
    /// The slot of the clause that says on which ports, if it has one.
    pub slot: Option<Slot>,
    /// Where it stands in the configuration, if that names it.
    pub place: Option<u32>,
    /// How many lists there were before it, ever.
    pub age: u64,
    /// How many targets it wants.
    pub entries: u64,
    /// How its source was found, if it has one.
    pub reading: Option<Reading>,
    /// What its source names though its time is over.
    pub spent: Spent,
    /// What it blocks for the sake of a longer IPv6 prefix.
    pub reach: Reach,
}

impl List {
    /// The set that its entries are in.
    pub fn set(&self) -> SetName {
        self.slot.map_or(self.polarity.whole(), SetName::Clause)
    }

    /// How long what its file names stays on it, if that has an end.
    pub fn ttl(&self) -> Option<Duration> {
        self.reading.as_ref()?.ttl
    }
}

/// All lists there are.
#[derive(Debug, Default)]
pub struct Lists {
    rows: BTreeMap<ListId, List>,
    names: HashMap<Arc<str>, ListId>,
    /// Numbers are given in turn, so that one that was in use a while ago does not come to mean another list at once.
    next: u16,
    /// How far live lists of these names reach, whether or not they are there.
    reaches: BTreeMap<Arc<str>, Reach>,
    made: u64,
    /// The numbers under which they are counted.
    pub(super) numbers: Numbers,
    /// Something has come, gone, or got another place or name since the order of the lists was looked at.
    pub(super) is_order_old: bool,
}

/// There are no more numbers for lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyLists;

impl Lists {
    /// The list of this name.
    pub fn find(&self, name: &str) -> Option<ListId> {
        self.names.get(name).copied()
    }

    /// How many entries are on the live list of this name.
    pub fn live_entries(&self, name: &str) -> u64 {
        let list = self.find(name).map(|id| self.get(id));
        list.filter(|list| list.origin.is_live()).map_or(0, |list| list.entries)
    }

    /// The row of this number.
    pub fn get(&self, id: ListId) -> &List {
        self.rows.get(&id).expect("whoever has a number has a row")
    }

    /// Is there a row of this number?
    pub fn has(&self, id: ListId) -> bool {
        self.rows.contains_key(&id)
    }

    /// The same row, to note how its source was found.
    pub fn reading_mut(&mut self, id: ListId) -> &mut Reading {
        self.row(id).reading.get_or_insert_default()
    }

    /// The time of this target on a list is over. What a command added may be added again.
    pub(super) fn spend(&mut self, id: ListId, target: Target) {
        let row = self.row(id);
        if !row.origin.is_live() {
            row.spent.insert(target);
        }
    }

    /// The time of these on a list, which its source names, was over before they came onto it.
    pub fn spend_all(&mut self, id: ListId, targets: &Targets) {
        targets.iter().for_each(|target| self.row(id).spent.insert(target));
    }

    /// What is spent of `other` is spent of this one, too, which takes its place.
    pub fn take_spent(&mut self, id: ListId, other: ListId) {
        let spent = std::mem::take(&mut self.row(other).spent);
        self.row(id).spent.extend(spent);
    }

    /// What is spent of a list is forgotten but for what its source names.
    pub fn forget_spent(&mut self, id: ListId, named: &Targets) {
        self.row(id).spent.retain(named);
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = (ListId, &List)> {
        self.rows.iter().map(|(id, list)| (*id, list))
    }

    /// The live ones that block, or those that allow.
    pub fn live(&self, polarity: Polarity) -> impl Iterator<Item = ListId> {
        let is_meant = move |list: &List| list.origin.is_live() && list.polarity == polarity;
        self.iter().filter(move |(_, list)| is_meant(list)).map(|(id, _)| id)
    }

    /// How many there are.
    pub fn count_all(&self) -> usize {
        self.names.len()
    }

    /// Are there as many live ones as there may be? The others take no room from them: whoever commands can empty live ones
    /// alone.
    pub fn are_full(&self) -> bool {
        self.rows.values().filter(|list| list.origin.is_live()).count() >= MOST_LIVE_LISTS
    }

    /// A new list, on which nothing is, however many there are. Nobody else has its name.
    pub fn make_anyway(
        &mut self,
        name: &str,
        origin: Origin,
        polarity: Polarity,
    ) -> Result<ListId, TooManyLists> {
        if self.count_all() >= usize::from(u16::MAX) {
            return Err(TooManyLists);
        }
        while self.has(ListId(self.next)) {
            self.next = self.next.wrapping_add(1);
        }
        let id = ListId(self.next);
        self.next = self.next.wrapping_add(1);
        let name: Arc<str> = name.into();
        self.names.insert(name.clone(), id);
        let reach = if origin.is_live() && polarity == Polarity::Block {
            self.live_reach(&name)
        } else {
            Reach::AS_GIVEN
        };
        let spent = Spent::default();
        let age = self.made;
        let row = List {
            name,
            was: None,
            origin,
            polarity,
            slot: None,
            place: None,
            age,
            entries: 0,
            reading: None,
            spent,
            reach,
        };
        self.rows.insert(id, row);
        self.made += 1;
        self.is_order_old = true;
        Ok(id)
    }

    /// Who is on this list is blocked on the ports of this clause only. Nothing is on it yet.
    pub(super) fn set_slot(&mut self, id: ListId, slot: Slot) {
        self.row(id).slot = Some(slot);
    }

    /// From now on this list reaches so far.
    pub fn set_reach(&mut self, id: ListId, reach: Reach) {
        self.row(id).reach = reach;
    }

    /// From now on new live lists of these names reach so far. Tells what it was before.
    pub fn set_live_reaches(&mut self, reaches: BTreeMap<Arc<str>, Reach>) -> BTreeMap<Arc<str>, Reach> {
        std::mem::replace(&mut self.reaches, reaches)
    }

    /// How far a live list of this name reaches.
    pub fn live_reach(&self, name: &str) -> Reach {
        self.reaches.get(name).copied().unwrap_or_default()
    }

    /// Does any live list widen what it wants?
    pub fn any_live_reach(&self) -> bool {
        !self.reaches.is_empty()
    }

    /// How far the list of this name reaches, or a live one if there is none yet.
    pub fn reach_of(&self, name: &str) -> Reach {
        self.find(name).map_or_else(|| self.live_reach(name), |id| self.get(id).reach)
    }

    /// These are the lists that the configuration names, in its order.
    pub fn set_places(&mut self, in_order: impl IntoIterator<Item = ListId>) {
        self.rows.values_mut().for_each(|list| list.place = None);
        for (place, id) in (0..).zip(in_order) {
            self.row(id).place = Some(place);
        }
        self.is_order_old = true;
    }

    /// All of them, those that the configuration names first, in its order, then the others by their age.
    pub fn in_order(&self) -> Vec<ListId> {
        let mut lists: Vec<_> = self.iter().collect();
        lists.sort_by_key(|(_, list)| (list.place.unwrap_or(u32::MAX), list.age));
        lists.into_iter().map(|(id, _)| id).collect()
    }

    /// Gives lists other names, all at once: two may change theirs with each other.
    pub fn rename(&mut self, renamed: impl IntoIterator<Item = (ListId, Arc<str>)> + Clone) {
        for (id, _) in renamed.clone() {
            let name = self.get(id).name.clone();
            self.names.remove(&name);
        }
        for (id, name) in renamed {
            self.names.insert(name.clone(), id);
            let row = self.row(id);
            (row.name, row.was) = (name, None);
        }
        self.is_order_old = true;
    }

    /// Forgets a list on which nothing is.
    pub fn forget(&mut self, id: ListId) {
        if self.rows.get(&id).is_some_and(|list| list.entries == 0)
            && let Some(list) = self.rows.remove(&id)
        {
            self.names.remove(&list.name);
            self.is_order_old = true;
        }
    }

    /// Forgets those live lists among `ids` on which nothing is any more: nobody else names them.
    pub fn forget_empty(&mut self, ids: impl IntoIterator<Item = ListId>) {
        for id in ids {
            let is_over = |list: &List| list.origin.is_live() && list.entries == 0;
            if self.rows.get(&id).is_some_and(is_over) {
                self.forget(id);
            }
        }
    }

    /// `list` wants so many targets more.
    pub(super) fn count(&mut self, list: ListId, more: i64) {
        let entries = &mut self.row(list).entries;
        *entries = entries.saturating_add_signed(more);
    }

    pub(super) fn row(&mut self, id: ListId) -> &mut List {
        self.rows.get_mut(&id).expect("whoever has a number has a row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lists_may_change_their_names_with_each_other() {
        let mut lists = Lists::default();
        let [one, two] =
            ["one", "two"].map(|name| lists.make_anyway(name, Origin::File, Polarity::Block).unwrap());
        lists.rename([(one, "two".into()), (two, "one".into())]);
        assert_eq!((lists.find("one"), lists.find("two")), (Some(two), Some(one)));
        assert_eq!(&*lists.get(one).name, "two");
    }

    #[test]
    fn a_live_list_with_nothing_on_it_is_forgotten_and_its_number_used_again() {
        let mut lists = Lists::default();
        for number in 0..10 * MOST_LIVE_LISTS {
            let id = lists.make_anyway(&format!("list{number}"), Origin::Live, Polarity::Block).unwrap();
            lists.forget_empty([id]);
        }
        assert_eq!(lists.count_all(), 0);
    }

    #[test]
    fn a_list_of_the_configuration_keeps_its_name_while_nothing_is_on_it() {
        let mut lists = Lists::default();
        let id = lists.make_anyway("drop", Origin::File, Polarity::Block).unwrap();
        lists.forget_empty([id]);
        assert_eq!(lists.find("drop"), Some(id));
    }

    #[test]
    fn there_is_an_end_to_lists() {
        let mut lists = Lists::default();
        let mut make = |name: &str, origin| lists.make_anyway(name, origin, Polarity::Block).is_ok();
        assert!((0..MOST_LIVE_LISTS).all(|number| make(&format!("file{number}"), Origin::File)));
        let made = (0..).take_while(|number: &u32| {
            let is_free = !lists.are_full();
            is_free && lists.make_anyway(&number.to_string(), Origin::Live, Polarity::Block).is_ok()
        });
        assert_eq!(made.count(), MOST_LIVE_LISTS);
    }

    /// Programs choose by these words: each that may come is named.
    #[test]
    fn every_kind_of_list_is_named_where_programs_are_told_of_kinds() {
        let page = include_str!("../../../docs/reference/control.md");
        let told: Vec<_> = page.lines().filter(|line| line.starts_with("| `kind` |")).collect();
        assert_eq!(told.len(), 2, "of lists and of status");
        // `url` is what a file is called that is fetched.
        let origins = [Origin::Config, Origin::File, Origin::Live, Origin::Host].map(Origin::name);
        for kind in origins.into_iter().chain(["url"]) {
            assert!(told.iter().all(|line| line.contains(&format!("`{kind}`"))), "{kind}: {told:#?}");
        }
    }
}
