//! Additions to live lists: the arguments of every verb that adds targets, and the wording that their
//! answers share.

use std::collections::BTreeSet;

use clap::Args;
use filter_common::target::Target;

use super::change::{ChangeOutcome, STANDARD_INPUT};
use super::ttl::Ttl;
use crate::command::render::figure::{count, counted, counted_as};
use crate::command::render::moment::{self, Clock};
use crate::config::ListName;
use crate::control::wire::strings::Strings;
use crate::control::wire::{self, Changed, Entry, MOST_LOOKED_AT, words};

#[derive(Debug, Default, Args)]
pub struct Addition {
    /// Address, prefix or range a-b, or - to read standard input, one per line
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<String>,
    /// Expire after this long: 90 (seconds), 10m, 2h, 1h30m, 7d, 1w [default: never]
    #[arg(long, value_name = "TIME")]
    pub ttl: Option<Ttl>,
    /// Live list to add to, created if missing [default: manual]
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    pub list: Option<ListName>,
    /// Reason, shown by `filterd list` and `filterd test`
    #[arg(long, value_name = "TEXT", value_parser = words::note)]
    pub note: Option<String>,
    /// Let --ttl shorten an existing entry (normally it only extends)
    #[arg(long, requires = "ttl")]
    pub shorten: bool,
    /// Exit with 4 if nothing changed
    #[arg(long)]
    pub strict: bool,
}

/// At most this many entries are listed one by one.
const MOST_TOLD: usize = 10;

impl Addition {
    /// The request that adds `targets`.
    pub fn request(&self, targets: Strings) -> wire::Add {
        let ttl = self.ttl.map(Ttl::as_secs);
        let (list, note) = (self.list.as_ref().map(ToString::to_string), self.note.clone());
        wire::Add { targets, list, ttl, note, shorten: self.shorten, wide: false }
    }

    /// The list that the targets go to, or `default` if none is named.
    pub fn list<'a>(&'a self, default: &'a str) -> &'a str {
        self.list.as_ref().map_or(default, ListName::as_str)
    }

    /// Describes the outcome. `held` is the new state of the targets: blocked, listed or allowed.
    pub fn told(&self, outcome: &ChangeOutcome, held: &str, list: &str) -> String {
        match self.single(outcome) {
            Some(word) => self.one(word, outcome, (held, list)),
            None => self.many(&outcome.changed, (held, list)),
        }
    }

    /// The target, if only one is named.
    fn single(&self, outcome: &ChangeOutcome) -> Option<&str> {
        match &self.targets[..] {
            // In a range, all targets but one may be guarded.
            [word] if word != STANDARD_INPUT && outcome.changed.named + outcome.changed.refused == 1 => {
                Some(word)
            }
            _ => None,
        }
    }

    fn one(&self, word: &str, outcome: &ChangeOutcome, (held, list): (&str, &str)) -> String {
        let Changed { changed, entered, covered, allowed, ref longer, .. } = outcome.changed;
        let is_longer = is_kept_longer(outcome, list);
        let added = || format!("added {word} to list `{list}`{}", self.length());
        match (changed, entered) {
            (0, _) if is_longer => format!("{word} is already {held} for longer: nothing was changed"),
            (0, _) if self.ttl.is_none() => {
                format!("{word} is already {held}: list `{list}` holds it permanently")
            }
            (0, _) => format!("{word} is already {held} for that long by list `{list}`"),
            // The end did not change, and the start never does.
            (_, 0) if is_longer => {
                format!("{word} is already {held} for longer: only its note was changed")
            }
            (_, 0) if self.shorten => format!("the entry of {word} in list `{list}` now {}", self.fate()),
            // It may have been in this list before. In any case it is now.
            (_, 0) => format!("{word} was already {held}; list `{list}` now holds it {}", self.term()),
            _ if allowed > 0 => added(),
            _ if !longer.is_empty() => format!("{}, but it is {held} for longer", added()),
            _ if covered > 0 => format!("{}; it was already {held}", added()),
            _ => format!("{held} {word}{}", self.length()),
        }
    }

    fn many(&self, changed: &Changed, (held, list): (&str, &str)) -> String {
        let Changed { named, changed, entered, ref longer, covered, widened, refused, .. } = *changed;
        // A widened prefix may cover several targets. Which of them came first means nothing.
        let entered = if entered > 0 && widened.is_some() { changed } else { entered };
        // For many targets, the daemon does not look for other entries that hold them.
        let is_new = longer.is_empty() && covered == 0 && named <= MOST_LOOKED_AT as u64;
        let newly = if is_new { format!("newly {held}") } else { "added".to_owned() };
        let (renewed, same) = (changed.saturating_sub(entered), named.saturating_sub(changed));
        let mut parts = Vec::new();
        parts.extend((entered > 0).then(|| format!("{} {newly}{}", count(entered), self.length())));
        // They may have been in this list before. In any case they are now.
        let renewed = (renewed > 0)
            .then(|| format!("{} already {held}, now held by list `{list}` {}", count(renewed), self.term()));
        parts.extend(renewed);
        parts.extend((same > 0).then(|| format!("{} already {held}", count(same))));
        parts.extend((refused > 0).then(|| format!("{} guarded and skipped", count(refused))));
        let what = match &self.targets[..] {
            [range] if range != STANDARD_INPUT => {
                format!("{range} ({})", counted_as(named + refused, ["prefix", "prefixes"]))
            }
            _ => counted(named + refused, "target"),
        };
        format!("{what}: {}", parts.join(", "))
    }

    /// The other entries that hold the targets: entries that last longer than requested, and wider ones.
    pub fn held_by(&self, outcome: &ChangeOutcome, held: &str, clock: &Clock) -> Vec<String> {
        let Changed { named, covered, ref covered_by, ref longer, .. } = outcome.changed;
        // If only one is named, it is obvious which one is meant.
        let known = self.single(outcome).map_or(&[][..], |_| &outcome.first);
        let until = |entry: &Entry| clock.until(entry.until);
        let stays = longer.iter().map(|entry| {
            let of = if is_one_of(known, entry) { String::new() } else { format!("{} of ", entry.target) };
            format!("stays {held} by {of}list `{}`: {}", entry.list, until(entry))
        });
        let of_many = (covered > 0 && named > 1)
            .then(|| format!("{} of them also {held} by wider entries", count(covered)));
        let wider = covered_by
            .iter()
            .filter(|entry| !longer.contains(entry))
            .map(|entry| format!("also {held} by {}: {}", on_ports(entry), until(entry)));
        few(stays).into_iter().chain(of_many).chain(few(wider)).collect()
    }

    /// How long the entry stays.
    fn fate(&self) -> String {
        match self.ttl {
            Some(ttl) => format!("expires in {}", moment::length(ttl.as_secs())),
            None => "is permanent".to_owned(),
        }
    }

    /// For how long the target is held from now on.
    fn term(&self) -> String {
        self.ttl
            .map_or_else(|| "permanently".to_owned(), |ttl| format!("for {}", moment::length(ttl.as_secs())))
    }

    fn length(&self) -> String {
        self.ttl.map(|ttl| format!(" for {}", moment::length(ttl.as_secs()))).unwrap_or_default()
    }
}

/// Commands that limit the targets to the requested time. `remove` is the verb that removes an entry from
/// such a list.
pub fn remedies(outcome: &ChangeOutcome, list: &str, remove: &str) -> Vec<String> {
    let shorten = is_kept_longer(outcome, list).then(|| {
        format!("adding again only extends an entry; to shorten the one in list `{list}`, pass --shorten")
    });
    let wider = own(outcome, list).filter(|entry| !is_one_of(&outcome.first, entry));
    let wider: BTreeSet<_> = wider.map(|entry| entry.target.as_str()).collect();
    let remove = wider.into_iter().take(MOST_TOLD).map(|wider| {
        format!("to remove all of {wider} from list `{list}`: filterd {remove} {wider} --list {list}")
    });
    shorten.into_iter().chain(remove).collect()
}

/// An entry with its target, its list, and the ports on which it blocks.
pub fn on_ports(entry: &Entry) -> String {
    let ports = entry.ports.as_ref().map(|ports| format!(" {ports}")).unwrap_or_default();
    let blocks = entry.blocks.as_ref().map(|wider| format!(" (blocks {wider})")).unwrap_or_default();
    format!("{}{blocks} of list `{}`{ports}", entry.target, entry.list)
}

/// Returns a few of these lines without duplicates, because one entry may cover several targets.
pub fn few(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for line in lines {
        if !told.contains(&line) {
            told.push(line);
        }
    }
    if told.len() > MOST_TOLD {
        told.truncate(MOST_TOLD);
        told.push("and by more entries".to_owned());
    }
    told
}

/// Returns whether an entry of a named target lasts longer than requested, in the list that it was added
/// to.
fn is_kept_longer(outcome: &ChangeOutcome, list: &str) -> bool {
    own(outcome, list).any(|entry| is_one_of(&outcome.first, entry))
}

/// The entries of that list which last longer than requested.
fn own<'a>(outcome: &'a ChangeOutcome, list: &'a str) -> impl Iterator<Item = &'a Entry> {
    outcome.changed.longer.iter().filter(move |entry| entry.list == list)
}

fn is_one_of(targets: &[Target], entry: &Entry) -> bool {
    entry.target.parse().is_ok_and(|target| targets.contains(&target))
}
