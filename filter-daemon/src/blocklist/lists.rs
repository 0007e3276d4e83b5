//! The lists by name: who can want a target blocked.

use std::sync::Arc;

/// Number of a list, for as long as the daemon runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(u16);

/// Where a list comes from, and so who may change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `block:` in the configuration.
    Config,
    /// A file that the configuration names.
    File,
    /// Commands, while the daemon runs.
    Live,
}

impl Kind {
    /// Its stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::File => "file",
            Self::Live => "live",
        }
    }
}

/// One list.
#[derive(Clone, Debug)]
pub struct List {
    /// Its name.
    pub name: Arc<str>,
    /// Where it comes from.
    pub kind: Kind,
    /// How many targets it wants.
    pub targets: u64,
}

/// All lists there are or were; a list that is gone wants nothing.
#[derive(Debug, Default)]
pub struct Lists {
    lists: Vec<List>,
}

/// No number is left for another list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyLists;

impl Lists {
    /// The list of this name, made if there is none. A list that wants nothing may change its kind.
    pub fn get_or_make(&mut self, name: &str, kind: Kind) -> Result<ListId, TooManyLists> {
        if let Some(id) = self.find(name) {
            let list = &mut self.lists[usize::from(id.0)];
            if list.targets == 0 {
                list.kind = kind;
            }
            return Ok(id);
        }
        let id = u16::try_from(self.lists.len()).map_err(|_| TooManyLists)?;
        self.lists.push(List { name: name.into(), kind, targets: 0 });
        Ok(ListId(id))
    }

    /// The list of this name.
    pub fn find(&self, name: &str) -> Option<ListId> {
        let at = self.lists.iter().position(|list| &*list.name == name)?;
        u16::try_from(at).ok().map(ListId)
    }

    /// The list of this number.
    pub fn get(&self, id: ListId) -> &List {
        &self.lists[usize::from(id.0)]
    }

    /// All of them, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (ListId, &List)> {
        (0..).map(ListId).zip(&self.lists)
    }

    /// `list` wants so many targets more.
    pub(super) fn count(&mut self, list: ListId, more: i64) {
        let targets = &mut self.lists[usize::from(list.0)].targets;
        *targets = targets.saturating_add_signed(more);
    }
}
