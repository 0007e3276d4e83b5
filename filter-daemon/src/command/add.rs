//! `filterd add`: blocks targets from now on.

use std::collections::BTreeSet;

use clap::Args;
use filter_common::target::Target;

use super::ask::change::{self, Outcome};
use super::ask::guarded;
use super::ask::trouble::Trouble;
use super::ask::ttl::Ttl;
use super::render::console::Console;
use super::render::figure::{count, counted, counted_as};
use super::render::moment::{self, Clock};
use crate::config::ListName;
use crate::control::client::Endpoint;
use crate::control::wire::strings::Strings;
use crate::control::wire::words;
use crate::control::wire::{self, Changed, Entry, Idle};
use crate::exit::Exit;
use crate::text::printable;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd add 203.0.113.7
  filterd add 198.51.100.0/24 2001:db8:bad::/48 --note 'ticket 4711'
  filterd add 203.0.113.7 --ttl 2h --list ssh
  filterd add 203.0.113.16-203.0.113.99
  filterd add - < blocklist.txt

What this host needs is guarded, and nothing overrides that: its own addresses, gateways and name servers, and whoever is
logged in from elsewhere (`filterd allow list --list guard`). An add of nothing else exits with 5; a prefix around it is
blocked, and it passes, which is told.")]
pub struct Add {
    /// Address, prefix, range a-b, or - to read them from standard input, one a line
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,
    /// Block only so long: 90 (seconds), 10m, 2h, 1h30m, 7d, 1w
    #[arg(long, value_name = "TIME")]
    ttl: Option<Ttl>,
    /// The live list they go to
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
    /// Why, for whoever asks later
    #[arg(long, value_name = "TEXT", value_parser = words::note)]
    note: Option<String>,
    /// End what the list blocks for longer after --ttl, too
    #[arg(long, requires = "ttl")]
    shorten: bool,
    /// Block a prefix shorter than /8, or than /16 of IPv6, too: what is guarded passes all the same
    #[arg(long)]
    wide: bool,
    /// Exit with 4 if nothing changed
    #[arg(long)]
    strict: bool,
}

/// More entries that block for longer than this are not told one by one.
const MOST_TOLD: usize = 10;

/// The list of those who add without naming one.
const MANUAL: &str = "manual";

impl Add {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let mut outcome = change::apply(&self.targets, socket, console, &|words| self.request(words))?;
        let clock = Clock::system();
        outcome.remedies = self.remedies(&outcome);
        console.answer(&outcome, |outcome| self.render(outcome, &clock))?;
        outcome.remedies.iter().for_each(|remedy| console.note(remedy));
        outcome.changed.warnings.iter().for_each(|warning| console.note(&format!("warning: {warning}")));
        guarded::tell(&outcome, console);
        change::tell_durability(&outcome.changed, console);
        Ok(self.exit(&outcome))
    }

    fn request(&self, targets: Strings) -> wire::Add {
        let ttl = self.ttl.map(Ttl::as_secs);
        let (list, note) = (self.list.as_ref().map(ToString::to_string), self.note.clone());
        wire::Add { targets, list, ttl, note, shorten: self.shorten, wide: self.wide }
    }

    /// What is attached nowhere drops nothing, which is not what the configuration says; counting only is.
    /// Whoever names a target that is allowed, and so passes, is told no; in what is read there may well be some.
    fn exit(&self, outcome: &Outcome) -> Exit {
        let Changed { idle, allowed, .. } = outcome.changed;
        match (outcome.exit(self.strict), idle) {
            (Exit::Done, Some(Idle::NothingAttached)) => Exit::Partly,
            (Exit::Done, _) if allowed > 0 && self.targets != ["-"] => Exit::No,
            (exit, _) => exit,
        }
    }

    fn render(&self, outcome: &Outcome, clock: &Clock) -> String {
        let Changed { named, changed, entered, ref longer, .. } = outcome.changed;
        let blocked = blocked(&outcome.changed);
        match (&self.targets[..], named, changed, entered) {
            (_, 0, ..) => String::new(),
            ([word], 1, ..) if word != "-" => {
                let mut lines = vec![self.one(word, outcome) + &but(&outcome.changed)];
                lines.extend(guarded::around(&outcome.changed));
                lines.extend(allowed(&outcome.changed, clock));
                lines.extend(longer.iter().map(|entry| longer_by(&outcome.first, entry, blocked, clock)));
                lines.join("\n")
            }
            (_, named, changed, entered) => {
                let mut parts = Vec::new();
                let newly = if longer.is_empty() { format!("newly {blocked}") } else { "added".to_owned() };
                parts.extend((entered > 0).then(|| format!("{} {newly}{}", count(entered), self.length())));
                let renewed = changed.saturating_sub(entered);
                parts.extend((renewed > 0).then(|| format!("{} updated", count(renewed))));
                let same = named.saturating_sub(changed);
                parts.extend((same > 0).then(|| format!("{} already {blocked}", count(same))));
                let what = match &self.targets[..] {
                    [range] if range != "-" => {
                        format!("{range} ({})", counted_as(named, ["prefix", "prefixes"]))
                    }
                    _ => counted(named, "target"),
                };
                let mut lines = vec![format!("{what}: {}{}", parts.join(", "), but(&outcome.changed))];
                lines.extend(guarded::around(&outcome.changed));
                lines.extend(allowed(&outcome.changed, clock));
                // One entry may be around several targets.
                let told: BTreeSet<_> =
                    longer.iter().map(|entry| longer_by(&[], entry, blocked, clock)).collect();
                let more = told.len() > MOST_TOLD;
                lines.extend(told.into_iter().take(MOST_TOLD));
                lines.extend(more.then(|| "and by more of them".to_owned()));
                lines.join("\n")
            }
        }
    }

    /// What became of a single target. Wherever it stays blocked longer than asked, the entries are told behind this.
    fn one(&self, word: &str, outcome: &Outcome) -> String {
        let Changed { changed, entered, ref longer, .. } = outcome.changed;
        let (list, blocked) = (self.list(), blocked(&outcome.changed));
        let is_kept = self.kept(outcome).next().is_some();
        match (changed, entered) {
            (0, _) if is_kept => {
                format!("{word} is already {blocked}, and for longer: nothing was changed")
            }
            // It was not the end that changed, and since when it is blocked never does.
            (_, 0) if changed > 0 && is_kept => {
                format!("{word} is already {blocked}, and for longer: only its note was changed")
            }
            (0, _) if self.ttl.is_none() => {
                format!("{word} is already {blocked}: list `{list}` holds it permanently")
            }
            (0, _) => format!("{word} is already {blocked} until then by list `{list}`"),
            (_, 0) if self.shorten => format!("the entry of {word} in list `{list}` now {}", self.fate()),
            // It may have been in this list before, or not: it is now.
            (_, 0) => {
                format!("{word} was {blocked} already; list `{list}` now holds it {}", self.term())
            }
            _ if outcome.changed.allowed > 0 => format!("added {word} to list `{list}`{}", self.length()),
            _ if longer.is_empty() => format!("{blocked} {word}{}", self.length()),
            _ => format!("added {word} to list `{list}`{}, but it is {blocked} for longer", self.length()),
        }
    }

    /// The entries of this very list that block for longer.
    fn own<'a>(&self, outcome: &'a Outcome) -> impl Iterator<Item = &'a Entry> {
        outcome.changed.longer.iter().filter(|entry| entry.list == self.list())
    }

    /// Those of them that are entries of what was named.
    fn kept<'a>(&self, outcome: &'a Outcome) -> impl Iterator<Item = &'a Entry> {
        self.own(outcome).filter(|entry| is_one_of(&outcome.first, &entry.target))
    }

    /// How to have it blocked no longer than was asked.
    fn remedies(&self, outcome: &Outcome) -> Vec<String> {
        let is_kept = self.kept(outcome).next().is_some();
        let shorten = is_kept.then(|| {
            format!("adding again extends: with --shorten the entry in list `{}` ends as asked", self.list())
        });
        let wider = self.own(outcome).filter(|entry| !is_one_of(&outcome.first, &entry.target));
        let wider: BTreeSet<_> = wider.map(|entry| entry.target.as_str()).collect();
        let remove = wider.into_iter().take(MOST_TOLD).map(|wider| {
            let list = self.list();
            format!("`filterd remove {wider} --list {list}` takes {wider} out of list `{list}`, all of it")
        });
        shorten.into_iter().chain(remove).collect()
    }

    fn list(&self) -> &str {
        self.list.as_ref().map_or(MANUAL, ListName::as_str)
    }

    /// How long its entry stays.
    fn fate(&self) -> String {
        match self.ttl {
            Some(ttl) => format!("expires in {}", moment::length(ttl.as_secs())),
            None => "is permanent".to_owned(),
        }
    }

    /// For how long it is held from now on.
    fn term(&self) -> String {
        self.ttl
            .map_or_else(|| "permanently".to_owned(), |ttl| format!("for {}", moment::length(ttl.as_secs())))
    }

    fn length(&self) -> String {
        self.ttl.map(|ttl| format!(" for {}", moment::length(ttl.as_secs()))).unwrap_or_default()
    }
}

/// Nothing is blocked where nothing is dropped, and what is allowed is not.
fn blocked(changed: &Changed) -> &'static str {
    if changed.idle.is_none() && changed.allowed == 0 { "blocked" } else { "listed" }
}

/// What passes, whatever was added.
fn allowed(changed: &Changed, clock: &Clock) -> Vec<String> {
    let Changed { named, allowed, ref allowed_by, .. } = *changed;
    let all = match (allowed, named) {
        (0, _) => None,
        (1, 1) => Some("it is allowed, and NOT dropped".to_owned()),
        _ => Some(format!("{} of them allowed, and NOT dropped", count(allowed))),
    };
    let part = allowed == 0 && !allowed_by.is_empty();
    let part = part.then(|| "a part is allowed, and not dropped".to_owned());
    let by = |entry: &Entry| {
        format!("allowed by {} of list `{}`, {}", entry.target, entry.list, clock.until(entry.until))
    };
    // One entry may be around several targets.
    let told: BTreeSet<_> = allowed_by.iter().map(by).collect();
    let more = (told.len() > MOST_TOLD).then(|| "and by more of them".to_owned());
    all.into_iter().chain(part).chain(told.into_iter().take(MOST_TOLD)).chain(more).collect()
}

/// What becomes of packets all the same.
fn but(changed: &Changed) -> String {
    match (changed.idle, &changed.except[..]) {
        (None, []) => String::new(),
        (None, names) => {
            let names: Vec<_> = names.iter().map(|name| printable::on_one_line(name)).collect();
            format!(
                ", but not on {}: nothing is filtered there (`filterd status` tells why)",
                names.join(", ")
            )
        }
        (Some(Idle::NothingAttached), _) => {
            ", but nothing is attached: nothing is dropped (`filterd status` tells why)".to_owned()
        }
        (Some(Idle::NotEnforced), _) => "; `enforce: false`, so it is only counted".to_owned(),
        (Some(Idle::Paused), _) => {
            "; protection is paused, so it is only counted (`filterd status` tells until when)".to_owned()
        }
    }
}

fn is_one_of(targets: &[Target], word: &str) -> bool {
    word.parse().is_ok_and(|target| targets.contains(&target))
}

/// Which entry blocks it for longer than was asked.
fn longer_by(named: &[Target], entry: &Entry, blocked: &str, clock: &Clock) -> String {
    let of = if is_one_of(named, &entry.target) { String::new() } else { format!("{} of ", entry.target) };
    format!("stays {blocked} by {of}list `{}`: {}", entry.list, clock.until(entry.until))
}

#[cfg(test)]
mod tests;
