//! The lists: one row for each, with everything that is known about it.

use std::collections::{BTreeMap, HashMap};
use std::iter::{self, Chain, Once};
use std::option;
use std::sync::Arc;

use filter_common::direction::Direction;
use filter_common::sets::{SetName, Slot};
use filter_common::target::Target;

use super::numbers::LabelNames;
use super::{ExpiredEntries, Polarity, Reach, Targets};

/// The most live lists that there may be. Lists of the configuration have their own limit. Each list adds
/// to the cost of every address that all of them name, and ten thousand would be noticeable.
pub const MOST_LIVE_LISTS: usize = 1000;

/// Number of a list, valid while the list has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(u16);

impl ListId {
    /// Sorts before every other number.
    pub(super) const FIRST: Self = Self(0);
    /// Sorts after every other number.
    pub(super) const LAST: Self = Self(u16::MAX);

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The origin of a list. It decides who may change the list, and where it survives a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `block:` in the configuration, which every start reads again.
    Config,
    /// A file that the configuration names, which every start reads again.
    File,
    /// Commands to the running daemon. The journal keeps these lists.
    Live,
    /// Another system, such as CrowdSec, whose decisions the daemon follows. The journal keeps these lists;
    /// commands and the configuration cannot change them.
    Remote,
    /// The addresses of this host itself, as the daemon finds them. Commands and the configuration cannot
    /// change this list.
    Host,
}

/// How an entry of a remote list says by whom it is. The name of the other system follows.
pub const BY_CROWDSEC: &str = "CrowdSec ";

impl Origin {
    /// The stable name, used in output for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::File => "file",
            Self::Live => "live",
            Self::Remote => "remote",
            Self::Host => "host",
        }
    }

    /// True if commands fill its lists.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Live)
    }

    /// True if the journal must keep the entries of its lists.
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::Live | Self::Remote)
    }

    /// The origin of a list that the journal kept, from the author of an entry. The name of the list does not
    /// tell it, because an earlier filterd let commands use the names of remote lists.
    pub fn of_kept(by: Option<&str>) -> Self {
        let is_remote = by.is_some_and(|by| by.starts_with(BY_CROWDSEC));
        if is_remote { Self::Remote } else { Self::Live }
    }
}

/// The row of one list.
#[derive(Clone, Debug)]
pub struct ListInfo {
    /// The name, which is unique among the rows.
    pub name: Arc<str>,
    /// The old name of a list on removal. Another list may have that name by now.
    pub(super) was: Option<Arc<str>>,
    pub origin: Origin,
    /// Whether it blocks or allows.
    pub polarity: Polarity,
    /// The slot of its port clause, if it has one.
    pub slot: Option<Slot>,
    /// Which packets it blocks. A list that allows does so in both directions.
    pub direction: Direction,
    /// The position in the configuration, if that names it.
    pub place: Option<u32>,
    /// How many lists were made before it.
    pub age: u64,
    /// The number of targets it wants.
    pub entries: u64,
    /// The expired targets that its source still names.
    pub spent: ExpiredEntries,
    /// How far it widens longer IPv6 prefixes.
    pub reach: Reach,
}

impl ListInfo {
    /// The set that contains its entries.
    #[inline]
    pub fn set(&self) -> SetName {
        match self.direction {
            Direction::Out => SetName::Out,
            Direction::In | Direction::Both => self.slot.map_or(self.polarity.whole(), SetName::Clause),
        }
    }

    /// The set that contains its entries as well, if it blocks in both directions. Its claims there are
    /// without times.
    #[inline]
    pub fn mirror(&self) -> Option<SetName> {
        (self.direction == Direction::Both).then_some(SetName::Out)
    }

    /// All sets that contain its entries.
    pub fn sets(&self) -> ListSets {
        ListSets { own: self.set(), mirror: self.mirror() }
    }
}

/// The sets that contain the entries of a list: one, or two if it blocks in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListSets {
    own: SetName,
    mirror: Option<SetName>,
}

impl From<SetName> for ListSets {
    fn from(own: SetName) -> Self {
        Self { own, mirror: None }
    }
}

impl IntoIterator for ListSets {
    type Item = SetName;
    type IntoIter = Chain<Once<SetName>, option::IntoIter<SetName>>;

    fn into_iter(self) -> Self::IntoIter {
        iter::once(self.own).chain(self.mirror)
    }
}

/// All lists that exist.
#[derive(Debug, Default)]
pub struct ListRegistry {
    rows: BTreeMap<ListId, ListInfo>,
    names: HashMap<Arc<str>, ListId>,
    /// Numbers are given in turn, so that a recently used one does not soon mean another list.
    next: u16,
    /// How far live lists of these names reach, whether or not they exist.
    reaches: BTreeMap<Arc<str>, Reach>,
    made: u64,
    /// The labels under which lists are counted.
    pub(super) numbers: LabelNames,
    /// True if a list was added, removed, moved or renamed since the order was last computed.
    pub(super) is_order_old: bool,
}

/// Every number for a list is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyLists;

impl ListRegistry {
    /// The list of this name.
    pub fn find(&self, name: &str) -> Option<ListId> {
        self.names.get(name).copied()
    }

    /// The number of entries of the live list of this name.
    pub fn live_entries(&self, name: &str) -> u64 {
        let list = self.find(name).map(|id| self.get(id));
        list.filter(|list| list.origin.is_live()).map_or(0, |list| list.entries)
    }

    /// The row of this list.
    #[inline]
    pub fn get(&self, id: ListId) -> &ListInfo {
        self.rows.get(&id).expect("whoever has a number has a row")
    }

    /// True if this list has a row.
    pub fn has(&self, id: ListId) -> bool {
        self.rows.contains_key(&id)
    }

    /// Marks an expired target, so that the source does not add it again. Lists of the journal need no mark:
    /// a command or another system may add the target again.
    pub(super) fn spend(&mut self, id: ListId, target: Target) {
        let row = self.row(id);
        if !row.origin.is_kept() {
            row.spent.insert(target);
        }
    }

    /// Marks targets that had expired before the source could put them on the list.
    pub(super) fn spend_all(&mut self, id: ListId, targets: &Targets) {
        targets.iter().for_each(|target| self.row(id).spent.insert(target));
    }

    /// Moves the expired targets of a list to the one that replaces it.
    pub(super) fn pass_spent(&mut self, from: ListId, to: ListId) {
        let spent = std::mem::take(&mut self.row(from).spent);
        self.row(to).spent.extend(spent);
    }

    /// Forgets expired targets that the source no longer names. If one is named again, it is new.
    pub(super) fn unspend(&mut self, id: ListId, targets: &Targets) {
        let spent = &mut self.row(id).spent;
        targets.iter().for_each(|target| spent.remove(target));
    }

    /// All lists, sorted by number.
    pub fn iter(&self) -> impl Iterator<Item = (ListId, &ListInfo)> {
        self.rows.iter().map(|(id, list)| (*id, list))
    }

    /// The live lists of this polarity.
    pub fn live(&self, polarity: Polarity) -> impl Iterator<Item = ListId> {
        let is_meant = move |list: &ListInfo| list.origin.is_live() && list.polarity == polarity;
        self.iter().filter(move |(_, list)| is_meant(list)).map(|(id, _)| id)
    }

    /// The number of lists that exist.
    pub fn count_all(&self) -> usize {
        self.names.len()
    }

    /// True if the limit of live lists, or of remote ones, is reached. Other lists do not count, because
    /// commands can empty only live lists.
    pub fn are_full(&self, origin: Origin) -> bool {
        origin.is_kept() && self.rows.values().filter(|list| list.origin == origin).count() >= MOST_LIVE_LISTS
    }

    /// Makes a new empty list, even above the limit of live lists. The name must be unused.
    pub(super) fn make_anyway(
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
        let direction = if origin.is_live() && polarity == Polarity::Block {
            Direction::of_live(&name)
        } else {
            Direction::In
        };
        let spent = ExpiredEntries::default();
        let age = self.made;
        let row = ListInfo {
            name,
            was: None,
            origin,
            polarity,
            slot: None,
            direction,
            place: None,
            age,
            entries: 0,
            spent,
            reach,
        };
        self.rows.insert(id, row);
        self.made += 1;
        self.is_order_old = true;
        Ok(id)
    }

    /// Sets which packets an empty list blocks.
    pub(super) fn set_direction(&mut self, id: ListId, direction: Direction) {
        self.row(id).direction = direction;
    }

    /// Restricts an empty list to the ports of this slot.
    pub(super) fn set_slot(&mut self, id: ListId, slot: Slot) {
        self.row(id).slot = Some(slot);
    }

    /// Sets how far this list reaches.
    pub(super) fn set_reach(&mut self, id: ListId, reach: Reach) {
        self.row(id).reach = reach;
    }

    /// Sets how far new live lists of these names reach.
    pub(super) fn set_live_reaches(&mut self, reaches: BTreeMap<Arc<str>, Reach>) {
        self.reaches = reaches;
    }

    /// How far live lists reach, by name, whether or not they exist.
    pub fn live_reaches(&self) -> &BTreeMap<Arc<str>, Reach> {
        &self.reaches
    }

    /// How far a live list of this name reaches.
    pub fn live_reach(&self, name: &str) -> Reach {
        self.reaches.get(name).copied().unwrap_or_default()
    }

    /// True if any live list widens its targets.
    pub fn any_live_reach(&self) -> bool {
        !self.reaches.is_empty()
    }

    /// How far the list of this name reaches, or would reach as a new live list.
    pub fn reach_of(&self, name: &str) -> Reach {
        self.find(name).map_or_else(|| self.live_reach(name), |id| self.get(id).reach)
    }

    /// Sets the lists that the configuration names, in its order.
    pub(super) fn set_places(&mut self, in_order: impl IntoIterator<Item = ListId>) {
        self.rows.values_mut().for_each(|list| list.place = None);
        for (place, id) in (0..).zip(in_order) {
            self.row(id).place = Some(place);
        }
        self.is_order_old = true;
    }

    /// All lists: first those of the configuration in its order, then the others by age.
    pub fn in_order(&self) -> Vec<ListId> {
        let mut lists: Vec<_> = self.iter().collect();
        lists.sort_by_key(|(_, list)| (list.place.unwrap_or(u32::MAX), list.age));
        lists.into_iter().map(|(id, _)| id).collect()
    }

    /// Renames lists, all at once, so that two may swap their names.
    pub(super) fn rename(&mut self, renamed: impl IntoIterator<Item = (ListId, Arc<str>)> + Clone) {
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

    /// Forgets a list, if it is empty.
    pub(super) fn forget(&mut self, id: ListId) {
        if self.rows.get(&id).is_some_and(|list| list.entries == 0)
            && let Some(list) = self.rows.remove(&id)
        {
            self.names.remove(&list.name);
            self.is_order_old = true;
        }
    }

    /// Forgets the empty lists of the journal among `ids`. The configuration does not name these.
    pub(super) fn forget_empty(&mut self, ids: impl IntoIterator<Item = ListId>) {
        for id in ids {
            let is_over = |list: &ListInfo| list.origin.is_kept() && list.entries == 0;
            if self.rows.get(&id).is_some_and(is_over) {
                self.forget(id);
            }
        }
    }

    /// Adds `more` to the number of entries.
    #[inline]
    pub(super) fn count(&mut self, list: ListId, more: i64) {
        let entries = &mut self.row(list).entries;
        *entries = entries.saturating_add_signed(more);
    }

    #[inline]
    pub(super) fn row(&mut self, id: ListId) -> &mut ListInfo {
        self.rows.get_mut(&id).expect("whoever has a number has a row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lists_can_swap_names() {
        let mut lists = ListRegistry::default();
        let [one, two] =
            ["one", "two"].map(|name| lists.make_anyway(name, Origin::File, Polarity::Block).unwrap());
        lists.rename([(one, "two".into()), (two, "one".into())]);
        assert_eq!((lists.find("one"), lists.find("two")), (Some(two), Some(one)));
        assert_eq!(&*lists.get(one).name, "two");
    }

    #[test]
    fn empty_live_list_is_forgotten_and_number_reused() {
        let mut lists = ListRegistry::default();
        for number in 0..10 * MOST_LIVE_LISTS {
            let id = lists.make_anyway(&format!("list{number}"), Origin::Live, Polarity::Block).unwrap();
            lists.forget_empty([id]);
        }
        assert_eq!(lists.count_all(), 0);
    }

    #[test]
    fn empty_configured_list_keeps_its_name() {
        let mut lists = ListRegistry::default();
        let id = lists.make_anyway("drop", Origin::File, Polarity::Block).unwrap();
        lists.forget_empty([id]);
        assert_eq!(lists.find("drop"), Some(id));
    }

    #[test]
    fn live_lists_have_a_limit() {
        let mut lists = ListRegistry::default();
        let mut make = |name: &str, origin| lists.make_anyway(name, origin, Polarity::Block).is_ok();
        assert!((0..MOST_LIVE_LISTS).all(|number| make(&format!("file{number}"), Origin::File)));
        let made = (0..).take_while(|number: &u32| {
            let is_free = !lists.are_full(Origin::Live);
            is_free && lists.make_anyway(&number.to_string(), Origin::Live, Polarity::Block).is_ok()
        });
        assert_eq!(made.count(), MOST_LIVE_LISTS);
    }

    /// Programs depend on these words, so the documentation must name each.
    #[test]
    fn control_docs_name_every_list_kind() {
        let page = include_str!("../../../docs/reference/control.md");
        let told: Vec<_> = page.lines().filter(|line| line.starts_with("| `kind` |")).collect();
        assert_eq!(told.len(), 2, "of lists and of status");
        // `url` is the word for a file that is fetched.
        let origins =
            [Origin::Config, Origin::File, Origin::Live, Origin::Remote, Origin::Host].map(Origin::name);
        for kind in origins.into_iter().chain(["url"]) {
            assert!(told.iter().all(|line| line.contains(&format!("`{kind}`"))), "{kind}: {told:#?}");
        }
    }
}
