//! What the operator means: a configuration and the files that it names.

use std::collections::BTreeMap;
use std::time::Duration;

use super::heldback::{Content, Copy, LIMITS, Row, Verdict};
use super::ports::Ports;
use super::prefix::Prefix;
use super::reference::{Configured, Lists};
use super::wanted::{AS_GIVEN, Before, During, Wanted};
use crate::Site;

/// The list of the configuration's own `block`.
pub const CONFIG: &str = "config";

/// The list of its own `allow`.
pub const CONFIG_ALLOW: &str = "config-allow";

/// The list that is fetched.
pub const FED: &str = "fed";

/// Which filterd reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// It has in force what it read before.
    Running,
    /// It starts, and has copies only.
    New,
}

/// A list of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub name: String,
    pub file: String,
    /// Does it allow, rather than block?
    pub allows: bool,
    /// What its longer IPv6 targets are widened to.
    pub reach: u8,
    /// Where it blocks.
    pub ports: Ports,
    /// How long what its file names stays on it.
    pub ttl: Option<Duration>,
    /// How much of a file may be missing or rubbish, in percent.
    pub limits: (u8, u8),
}

impl Listed {
    /// One that blocks what is in its file.
    pub fn new(name: &str, file: &str) -> Self {
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            allows: false,
            reach: AS_GIVEN,
            ports: Ports::All,
            ttl: None,
            limits: LIMITS[0],
        }
    }

    fn text(&self) -> String {
        let Self { name, file, allows, reach, ports, ttl, limits: (shrink, rejected) } = self;
        let ttl = staying(*ttl);
        let kind = if *allows { ", allow: true".to_owned() } else { reaching(*reach) + &ports.key() };
        format!(
            "{{name: {name}, path: $HOME/{file}, include_special: true, include_wide: true, max_shrink: {shrink}%, max_rejected: {rejected}%{kind}{ttl}}}"
        )
    }
}

/// The configuration as it is meant to be, and the files as they are.
#[derive(Clone, Debug)]
pub struct Plan {
    pub enforce: bool,
    pub keep: bool,
    /// Are packets counted for each list?
    pub counts_lists: bool,
    /// Does what this host began itself pass?
    pub only_new: bool,
    pub block: Vec<Prefix>,
    pub allow: Vec<Prefix>,
    pub lists: Vec<Listed>,
    /// How far lists reach that commands fill.
    pub reach: BTreeMap<String, u8>,
    /// What is in each file; nothing if there is none.
    pub files: BTreeMap<String, Option<Content>>,
    /// What was fetched last of the list that is fetched, if there is one.
    pub fed: Option<Vec<Prefix>>,
    /// How long what is fetched stays on it.
    pub fed_ttl: Option<Duration>,
}

impl Plan {
    /// Nothing is blocked, and there are no files.
    pub fn new() -> Self {
        Self {
            enforce: true,
            keep: false,
            counts_lists: true,
            only_new: false,
            block: Vec::new(),
            allow: Vec::new(),
            lists: Vec::new(),
            reach: BTreeMap::new(),
            files: BTreeMap::new(),
            fed: None,
            fed_ttl: None,
        }
    }

    /// The configuration file.
    pub fn text(&self) -> String {
        let quoted = |targets: &[Prefix]| -> String {
            let words: Vec<_> = targets.iter().map(|target| format!("\"{target}\"")).collect();
            words.join(", ")
        };
        let live = self.reach.iter().map(|(name, reach)| format!("{{name: {name}{}}}", reaching(*reach)));
        let fed = self.fed.iter().map(|_| {
            format!(
                "{{name: {FED}, {}, include_special: true, include_wide: true, max_shrink: 100%, \
                 min_entries: 0, timeout: 1s{}}}",
                Site::keys(),
                staying(self.fed_ttl)
            )
        });
        let lists: Vec<_> = self.lists.iter().map(Listed::text).chain(fed).chain(live).collect();
        format!(
            "enforce: {}\non_exit: {}\ncounters: {}\nmatch: {}\nblock: [{}]\nallow: [{}]\nlists: [{}]\n",
            self.enforce,
            if self.keep { "keep" } else { "detach" },
            if self.counts_lists { "lists" } else { "total" },
            if self.only_new { "new" } else { "all" },
            quoted(&self.block),
            quoted(&self.allow),
            lists.join(", ")
        )
    }

    /// Does one of its lists have no file?
    pub fn is_incomplete(&self) -> bool {
        self.lists.iter().any(|list| self.content(&list.file).is_none())
    }

    /// What its lists want when it is read by a filterd that knows what `before` was. A list whose file is missing or
    /// refused keeps what it had, under its old name, too.
    pub fn read(&self, before: Option<(&Self, &Configured)>, reader: Reader, during: During) -> Configured {
        let mut configured = Configured { reach: self.reach.clone(), ..Configured::default() };
        configured.blocked.insert(CONFIG.to_owned(), Wanted::all(&self.block));
        configured.allowed.insert(CONFIG_ALLOW.to_owned(), Wanted::all(&self.allow));
        let continued = before.map(|before| self.continued(before, reader));
        for (place, list) in self.lists.iter().enumerate() {
            let old = continued.as_ref().and_then(|continued| continued[place]);
            let had = old.and_then(|old| kept(old, before?.1));
            let row = old.and_then(|old| before?.1.rows.get(&old.name));
            let content = self.content(&list.file);
            let judge =
                |row| content.map_or(Verdict::HoldBack, |content| content.judge(list.limits, row, during.0));
            let is_lost = judge(row) == Verdict::HoldBack
                && reader == Reader::New
                && row.is_some_and(|row| row.copy != Copy::Whole);
            // Without its copy, what can be read of the file is better than nothing.
            let (row, stays) = if is_lost { (None, None) } else { (row, had) };
            let verdict = judge(row);
            if verdict != Verdict::Accept {
                configured.doubted.insert(list.name.clone());
            }
            let row = match (verdict, content) {
                (Verdict::Accept, Some(content)) => Some(Row::accepted(content, row, during.0, reader)),
                (Verdict::TakePart, Some(content)) => Some(Row::part(content)),
                (Verdict::HoldBack, _) | (_, None) => row.cloned(),
            };
            configured.rows.extend(row.map(|row| (list.name.clone(), row)));
            let content = content.filter(|_| verdict != Verdict::HoldBack);
            if let (None, Some((allowed, had))) = (content, had)
                && allowed != list.allows
                && had.iter().next().is_some()
            {
                // Nobody is allowed, or blocked, because a file is missing.
                let kind = if allowed { &mut configured.allowed } else { &mut configured.blocked };
                configured.unread.extend(is_lost.then(|| list.name.clone()));
                let had = if is_lost { Wanted::default() } else { had.clone() };
                kind.insert(list.name.clone(), had);
                continue;
            }
            let is_alike = |(allowed, _): &(bool, &Wanted)| *allowed == list.allows;
            let [had, stays] = [had, stays].map(|had| had.filter(is_alike).map(|(_, had)| had));
            let is_it = |old: &Listed| (&old.name, &old.file, old.ttl) == (&list.name, &list.file, list.ttl);
            let goes_on = match had {
                // What was held back goes on by what it was under.
                Some(had) if old.is_some_and(is_it) && had.ttl == list.ttl => Before::This(had),
                Some(had) => Before::Perhaps(had),
                None => Before::Nobody,
            };
            let found = |targets: &[Prefix]| Wanted::found(targets, list.ttl, goes_on, during);
            let read = content.map(|content| found(&content.targets));
            let kept = || stays.map(|had| found(&had.iter().map(|(target, _)| target).collect::<Vec<_>>()));
            let wanted = read.or_else(kept).unwrap_or_else(|| {
                configured.unread.insert(list.name.clone());
                Wanted::default()
            });
            match list.allows {
                true => configured.allowed.insert(list.name.clone(), wanted),
                false => {
                    configured.blocked.insert(list.name.clone(), wanted.reaching(list.reach).on(list.ports))
                }
            };
        }
        configured.repair_copies();
        if let Some(fed) = &self.fed {
            let had = before.filter(|(plan, _)| plan.fed.is_some());
            let had = had.and_then(|(plan, before)| Some((plan, before.blocked.get(FED)?)));
            let goes_on = had.map_or(Before::Nobody, |(plan, had)| match plan.fed_ttl == self.fed_ttl {
                true => Before::This(had),
                false => Before::Perhaps(had),
            });
            configured.blocked.insert(FED.to_owned(), Wanted::found(fed, self.fed_ttl, goes_on, during));
        }
        configured
    }

    /// Which list of `before` each of these goes on with, each with another one: first those that are called the same and read
    /// the same file, then those that read the same file, then those that are called the same.
    fn continued<'a>(
        &self,
        (before, configured): (&'a Self, &Configured),
        reader: Reader,
    ) -> Vec<Option<&'a Listed>> {
        let has_copy = |name: &str| configured.rows.get(name).is_some_and(|row| row.id.is_some());
        let is_known = |list: &&Listed| reader == Reader::Running || has_copy(&list.name);
        let mut free: Vec<_> = before.lists.iter().filter(is_known).collect();
        let mut continued = vec![None; self.lists.len()];
        for (by_name, by_file) in [(true, true), (false, true), (true, false)] {
            for (list, continued) in self.lists.iter().zip(&mut continued) {
                let is_it = |old: &&Listed| {
                    (!by_name || old.name == list.name) && (!by_file || old.file == list.file)
                };
                if continued.is_none() {
                    *continued = free.iter().position(is_it).map(|place| free.remove(place));
                }
            }
        }
        continued
    }

    /// Is there a list of this name?
    pub fn has(&self, name: &str) -> bool {
        self.lists.iter().any(|own| own.name == name)
    }

    /// The names of its lists that block with this configured, in their order.
    pub fn order(&self, configured: &Configured) -> Vec<&str> {
        let blocks = self.lists.iter().filter(|list| configured.blocked.contains_key(&list.name));
        let fed = self.fed.iter().map(|_| FED);
        std::iter::once(CONFIG).chain(blocks.map(|list| list.name.as_str())).chain(fed).collect()
    }

    pub fn content(&self, file: &str) -> Option<&Content> {
        self.files.get(file)?.as_ref()
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self::new()
    }
}

/// What this list had, if anything could be read of it, and whether it was allowed.
fn kept<'a>(old: &Listed, configured: &'a Configured) -> Option<(bool, &'a Wanted)> {
    let of = |allowed: bool, lists: &'a Lists| Some((allowed, lists.get(&old.name)?));
    let had = of(true, &configured.allowed).or_else(|| of(false, &configured.blocked));
    had.filter(|_| !configured.unread.contains(&old.name))
}

fn staying(ttl: Option<Duration>) -> String {
    ttl.map_or(String::new(), |ttl| format!(", ttl: {}s", ttl.as_secs()))
}

fn reaching(reach: u8) -> String {
    if reach == AS_GIVEN { String::new() } else { format!(", ipv6_prefix: {reach}") }
}
