//! The plan: what a configuration would change, list by list. It is pure: it reads no file and no clock, and
//! changes nothing. `diff` shows a plan; a start and a reload carry it out.

mod continued;
mod lifetime;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::blocklist::{Blocklist, ListId, Meaning, Origin, Polarity, Reach, Settings, Targets};
use crate::config::name::{CONFIG_ALLOW_LIST, CONFIG_LIST};
use crate::config::{Config, Matches};

pub use continued::Continued;
pub use lifetime::Lifetime;

/// The settings and lists of a configuration, compared with those in force.
#[derive(Debug)]
pub struct Plan {
    pub settings: Settings,
    /// `block:`, `allow:` unless it never allowed anything, and then the lists in the order of the
    /// configuration.
    pub lists: Vec<PlannedList>,
    /// Lists in force that the configuration no longer names.
    pub gone: Vec<ListId>,
}

/// A list as it would be.
#[derive(Clone, Debug)]
pub struct PlannedList {
    pub name: Arc<str>,
    pub origin: Origin,
    pub meaning: Meaning,
    /// The list in force that it continues.
    pub continues: Continued,
    /// How long its entries stay on it.
    pub lifetime: Lifetime,
    pub contents: Contents,
}

/// The contents that a list would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Those that it has.
    Stay,
    /// Those of the list in force with other ports that it continues.
    TakenOver,
    /// These, and no others.
    Replaced(Targets),
}

impl Plan {
    /// The plan for the settings of a configuration, for the entries of `block:` and `allow:`, and for these
    /// lists of files.
    pub fn new(
        in_force: &Blocklist,
        config: &Config,
        inline: [Targets; 2],
        files: impl Iterator<Item = PlannedList>,
    ) -> Self {
        let [block, allow] = inline;
        let allows = !allow.is_empty() || in_force.lists().find(CONFIG_ALLOW_LIST).is_some();
        let inline = |name: &str, polarity, targets| PlannedList {
            name: name.into(),
            origin: Origin::Config,
            meaning: Meaning::plain(polarity),
            continues: in_force.lists().find(name).map_or(Continued::New, Continued::Same),
            lifetime: Lifetime::FOR_GOOD,
            contents: Contents::Replaced(targets),
        };
        let block = inline(CONFIG_LIST, Polarity::Block, block);
        let allow = allows.then(|| inline(CONFIG_ALLOW_LIST, Polarity::Allow, allow));
        let lists: Vec<_> = std::iter::once(block).chain(allow).chain(files).collect();
        let gone = Continued::gone(lists.iter().map(|list| list.continues), in_force.lists());
        Self { settings: settings_of(config), lists, gone }
    }

    /// Lists in force whose entries reach as far as another list says, and how far that is.
    pub fn reaches(&self) -> impl Iterator<Item = (ListId, Reach)> {
        self.lists.iter().filter(|list| list.origin == Origin::File).filter_map(|list| {
            let id = list.continues.same().or_else(|| list.takes_over());
            Some((id?, list.meaning.reach))
        })
    }
}

impl PlannedList {
    /// The list in force whose entries it takes over.
    pub fn takes_over(&self) -> Option<ListId> {
        self.continues.turned().filter(|_| self.contents == Contents::TakenOver)
    }

    /// Whether it keeps its name, its meaning and its `ttl`. Its entries may change.
    pub fn is_alike(&self, in_force: &Blocklist) -> bool {
        self.continues.same().is_some_and(|id| {
            let before = in_force.lists().get(id);
            before.name == self.name && before.reach == self.meaning.reach && self.lifetime.is_as_before()
        })
    }

    /// The name that it has in force, if it would get another.
    pub fn name_before<'a>(&self, in_force: &'a Blocklist) -> Option<&'a Arc<str>> {
        self.continues.name_before(&self.name, in_force.lists())
    }
}

/// The settings for judging packets that a configuration asks for.
fn settings_of(config: &Config) -> Settings {
    let match_new = config.matches == Matches::New;
    Settings {
        enforce: config.enforce,
        match_new,
        counters: config.counters,
        outbound_errors: config.outbound_errors,
        ..Settings::default()
    }
}
