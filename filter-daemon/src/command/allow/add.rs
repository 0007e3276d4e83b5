//! `filterd allow add`: targets pass from now on, whatever blocks them.

use std::collections::BTreeSet;

use clap::Args;

use crate::command::ask::change::{self, Outcome};
use crate::command::ask::trouble::Trouble;
use crate::command::ask::ttl::Ttl;
use crate::command::render::console::Console;
use crate::command::render::figure::{count, counted, counted_as};
use crate::command::render::moment::{self, Clock};
use crate::config::ListName;
use crate::control::client::Endpoint;
use crate::control::wire::strings::Strings;
use crate::control::wire::words;
use crate::control::wire::{self, Changed, Entry};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd allow add 192.0.2.10 --note 'our office'
  filterd allow add 198.51.100.0/24 2001:db8:1::/48 --ttl 2h
  filterd allow add 192.0.2.16-192.0.2.31 --list partners
  filterd allow add - < partners.txt")]
pub struct Add {
    /// Address, prefix, range a-b, or - to read them from standard input, one a line
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,
    /// Allow only so long: 90 (seconds), 10m, 2h, 1h30m, 7d, 1w
    #[arg(long, value_name = "TIME")]
    ttl: Option<Ttl>,
    /// The live list they go to
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
    /// Why, for whoever asks later
    #[arg(long, value_name = "TEXT", value_parser = words::note)]
    note: Option<String>,
    /// End what the list allows for longer after --ttl, too
    #[arg(long, requires = "ttl")]
    shorten: bool,
    /// Exit with 4 if nothing changed
    #[arg(long)]
    strict: bool,
}

/// More entries than this are not told one by one.
const MOST_TOLD: usize = 10;

/// The list of those who allow without naming one.
const MANUAL: &str = "manual-allow";

impl Add {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let outcome = change::apply(&self.targets, socket, console, &|words| self.request(words))?;
        let clock = Clock::system();
        console.answer(&outcome, |outcome| self.render(outcome, &clock))?;
        if self.keeps_longer(&outcome.changed) {
            let list = self.list();
            console.note(&format!(
                "adding again extends: with --shorten the entries in list `{list}` end as asked"
            ));
        }
        change::tell_durability(&outcome.changed, console);
        Ok(outcome.exit(self.strict))
    }

    fn request(&self, targets: Strings) -> wire::Allow {
        let ttl = self.ttl.map(Ttl::as_secs);
        let (list, note) = (self.list.as_ref().map(ToString::to_string), self.note.clone());
        wire::Allow(wire::Add { targets, list, ttl, note, shorten: self.shorten, wide: false })
    }

    fn render(&self, outcome: &Outcome, clock: &Clock) -> String {
        let Changed { named, changed, entered, ref longer, ref blocked_by, .. } = outcome.changed;
        let first = match (&self.targets[..], named) {
            (_, 0) => return String::new(),
            ([word], 1) if word != "-" => self.one(word, &outcome.changed),
            _ => {
                let mut parts = Vec::new();
                parts.extend(
                    (entered > 0).then(|| format!("{} newly allowed{}", count(entered), self.length())),
                );
                let renewed = changed.saturating_sub(entered);
                parts.extend((renewed > 0).then(|| format!("{} updated", count(renewed))));
                let same = named.saturating_sub(changed);
                parts.extend((same > 0).then(|| format!("{} already allowed", count(same))));
                let what = match &self.targets[..] {
                    [range] if range != "-" => {
                        format!("{range} ({})", counted_as(named, ["prefix", "prefixes"]))
                    }
                    _ => counted(named, "target"),
                };
                format!("{what}: {}", parts.join(", "))
            }
        };
        let longer = longer
            .iter()
            .map(|entry| format!("stays allowed by {}: {}", held(entry), clock.until(entry.until)));
        let blocked = blocked_by.iter().map(|entry| format!("passes, though {} blocks it", held(entry)));
        // One entry may be around several targets.
        let told: BTreeSet<_> = longer.chain(blocked).collect();
        let more = told.len() > MOST_TOLD;
        let mut lines = vec![first];
        lines.extend(told.into_iter().take(MOST_TOLD));
        lines.extend(more.then(|| "and more of them".to_owned()));
        lines.join("\n")
    }

    fn one(&self, word: &str, changed: &Changed) -> String {
        let list = self.list();
        match (changed.changed, changed.entered) {
            (0, _) if self.keeps_longer(changed) => {
                format!("{word} is already allowed, and for longer: nothing was changed")
            }
            (0, _) if self.ttl.is_none() => {
                format!("{word} is already allowed: list `{list}` holds it permanently")
            }
            (0, _) => format!("{word} is already allowed until then by list `{list}`"),
            (_, 0) => format!("{word} is already allowed; its entry in list `{list}` {}", self.fate()),
            _ => format!("allowed {word}{}", self.length()),
        }
    }

    /// Does an entry of this very list last longer than was asked?
    fn keeps_longer(&self, changed: &Changed) -> bool {
        !self.shorten && changed.longer.iter().any(|entry| entry.list == self.list())
    }

    fn list(&self) -> &str {
        self.list.as_ref().map_or(MANUAL, ListName::as_str)
    }

    fn fate(&self) -> String {
        match self.ttl {
            Some(ttl) => format!("expires in {}", moment::length(ttl.as_secs())),
            None => "is permanent".to_owned(),
        }
    }

    fn length(&self) -> String {
        self.ttl.map(|ttl| format!(" for {}", moment::length(ttl.as_secs()))).unwrap_or_default()
    }
}

fn held(entry: &Entry) -> String {
    format!("{} of list `{}`", entry.target, entry.list)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_795_296_480;

    fn add(words: &[&str], ttl: Option<&str>) -> Add {
        let targets = words.iter().map(ToString::to_string).collect();
        let ttl = ttl.map(|word| word.parse().unwrap());
        Add { targets, ttl, list: None, note: None, shorten: false, strict: false }
    }

    fn told(words: &[&str], ttl: Option<&str>, changed: Changed) -> String {
        let outcome = Outcome { changed, ..Outcome::default() };
        add(words, ttl).render(&outcome, &Clock::standing(NOW))
    }

    fn entry(target: &str, list: &str, until: Option<u64>) -> Entry {
        let (target, list) = (target.into(), list.into());
        Entry { target, list, since: NOW, until, note: None, by: None, origin: None }
    }

    #[test]
    fn the_answer_says_what_passes_from_now_on() {
        let new = Changed { named: 1, changed: 1, entered: 1, ..Changed::default() };
        assert_eq!(told(&["192.0.2.1"], Some("2h"), new.clone()), "allowed 192.0.2.1 for 2 h");
        let blocked_by = vec![entry("192.0.2.0/24", "drop", None)];
        assert_eq!(
            told(&["192.0.2.1"], None, Changed { blocked_by, ..new }),
            "allowed 192.0.2.1\npasses, though 192.0.2.0/24 of list `drop` blocks it"
        );
        let many = Changed { named: 5, changed: 3, entered: 2, ..Changed::default() };
        assert_eq!(told(&["-"], None, many), "5 targets: 2 newly allowed, 1 updated, 2 already allowed");
    }

    #[test]
    fn what_is_allowed_for_longer_stays_so() {
        let longer = vec![entry("192.0.2.1", MANUAL, None)];
        let same = Changed { named: 1, longer, ..Changed::default() };
        assert_eq!(
            told(&["192.0.2.1"], Some("2h"), same),
            "192.0.2.1 is already allowed, and for longer: nothing was changed\n\
             stays allowed by 192.0.2.1 of list `manual-allow`: permanent"
        );
    }
}
