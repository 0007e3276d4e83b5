//! `filterd add`: blocks targets from now on.

use std::collections::BTreeSet;

use clap::Args;

use super::ask::change::{self, Outcome};
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
  filterd add - < blocklist.txt")]
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
        let outcome = change::apply(&self.targets, socket, console, &|words| self.request(words))?;
        let clock = Clock::system();
        console.answer(&outcome, |outcome| self.render(outcome, &clock))?;
        self.remedy(&outcome).into_iter().for_each(|remedy| console.note(&remedy));
        change::tell_durability(&outcome.changed, console);
        Ok(self.exit(&outcome))
    }

    fn request(&self, targets: Strings) -> wire::Add {
        let ttl = self.ttl.map(Ttl::as_secs);
        let (list, note) = (self.list.as_ref().map(ToString::to_string), self.note.clone());
        wire::Add { targets, list, ttl, note, shorten: self.shorten }
    }

    /// What is attached nowhere drops nothing, which is not what the configuration says; counting only is.
    fn exit(&self, outcome: &Outcome) -> Exit {
        match (outcome.exit(self.strict), outcome.changed.idle) {
            (Exit::Done, Some(Idle::NothingAttached)) => Exit::Partly,
            (exit, _) => exit,
        }
    }

    fn render(&self, outcome: &Outcome, clock: &Clock) -> String {
        let Changed { named, changed, entered, idle, ref longer, .. } = outcome.changed;
        let blocked = blocked(idle);
        match (&self.targets[..], named, changed, entered) {
            (_, 0, ..) => String::new(),
            ([word], 1, changed, entered) if word != "-" => {
                let mut lines =
                    vec![self.one(word, changed, entered, &outcome.changed) + &but(&outcome.changed)];
                lines.extend(longer.iter().map(|entry| longer_by(word, entry, clock)));
                lines.join("\n")
            }
            (_, named, changed, entered) => {
                let mut parts = Vec::new();
                parts.extend(
                    (entered > 0).then(|| format!("{} newly {blocked}{}", count(entered), self.length())),
                );
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
                // One entry may be around several targets.
                let told: BTreeSet<_> = longer.iter().map(|entry| longer_by("", entry, clock)).collect();
                let more = told.len() > MOST_TOLD;
                lines.extend(told.into_iter().take(MOST_TOLD));
                lines.extend(more.then(|| "and by more of them".to_owned()));
                lines.join("\n")
            }
        }
    }

    /// What became of a single target. Wherever it stays blocked longer than asked, the entries are told behind this.
    fn one(&self, word: &str, changed: u64, entered: u64, all: &Changed) -> String {
        let (list, blocked) = (self.list(), blocked(all.idle));
        match (changed, entered) {
            (0, _) if self.keeps(&all.longer) => {
                format!("{word} is already {blocked}, and for longer: nothing was changed")
            }
            (0, _) if self.ttl.is_none() => {
                format!("{word} is already {blocked}: list `{list}` holds it permanently")
            }
            (0, _) => format!("{word} is already {blocked} until then by list `{list}`"),
            (_, 0) => format!("{word} is already {blocked}; its entry in list `{list}` {}", self.fate()),
            _ => format!("{blocked} {word}{}", self.length()),
        }
    }

    /// Is it this very list that blocks for longer?
    fn keeps(&self, longer: &[Entry]) -> bool {
        longer.iter().any(|entry| entry.list == self.list())
    }

    /// How to have it blocked no longer than was asked.
    fn remedy(&self, outcome: &Outcome) -> Option<String> {
        let is_kept = self.keeps(&outcome.changed.longer) && !self.shorten;
        is_kept.then(|| {
            format!("adding again extends: with --shorten the entry in list `{}` ends as asked", self.list())
        })
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

    fn length(&self) -> String {
        self.ttl.map(|ttl| format!(" for {}", moment::length(ttl.as_secs()))).unwrap_or_default()
    }
}

/// Nothing is blocked where nothing is dropped.
fn blocked(idle: Option<Idle>) -> &'static str {
    if idle.is_none() { "blocked" } else { "listed" }
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
    }
}

/// Which entry blocks it for longer than was asked.
fn longer_by(word: &str, entry: &Entry, clock: &Clock) -> String {
    let of = if entry.target == word { String::new() } else { format!("{} of ", entry.target) };
    format!("stays blocked by {of}list `{}`: {}", entry.list, clock.until(entry.until))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(words: &[&str], ttl: Option<&str>) -> Add {
        Add {
            targets: words.iter().map(ToString::to_string).collect(),
            ttl: ttl.map(|word| word.parse().unwrap()),
            list: None,
            note: None,
            shorten: false,
            strict: false,
        }
    }

    fn told(words: &[&str], ttl: Option<&str>, numbers: [u64; 3]) -> String {
        told_with(words, ttl, numbers, vec![])
    }

    fn told_with(
        words: &[&str],
        ttl: Option<&str>,
        [named, changed, entered]: [u64; 3],
        longer: Vec<Entry>,
    ) -> String {
        let changed = Changed { named, changed, entered, longer, ..Changed::default() };
        told_all(&add(words, ttl), &Outcome { changed, ..Outcome::default() })
    }

    fn told_all(add: &Add, outcome: &Outcome) -> String {
        let mut told = add.render(outcome, &Clock::standing(1_795_296_480));
        add.remedy(outcome).into_iter().for_each(|remedy| told.push_str(&format!("\n{remedy}")));
        told
    }

    #[test]
    fn nothing_is_called_blocked_that_passes() {
        let idle = |idle| {
            let changed =
                Changed { named: 1, changed: 1, entered: 1, idle: Some(idle), ..Changed::default() };
            let (add, outcome) = (add(&["192.0.2.1"], None), Outcome { changed, ..Outcome::default() });
            (told_all(&add, &outcome), add.exit(&outcome))
        };
        let (told, exit) = idle(Idle::NothingAttached);
        let words =
            "listed 192.0.2.1, but nothing is attached: nothing is dropped (`filterd status` tells why)";
        assert_eq!((told.as_str(), exit), (words, Exit::Partly));
        let (told, exit) = idle(Idle::NotEnforced);
        let words = "listed 192.0.2.1; `enforce: false`, so it is only counted";
        assert_eq!((told.as_str(), exit), (words, Exit::Done));
    }

    fn entry(target: &str, list: &str, until: Option<u64>) -> Entry {
        let (target, list) = (target.into(), list.into());
        Entry { target, list, since: 0, until, note: None, origin: Some("live".into()) }
    }

    #[test]
    fn what_stays_blocked_for_longer_than_asked_is_told_with_who_holds_it() {
        let told = |numbers, longer| told_with(&["192.0.2.1"], Some("1h"), numbers, longer);
        let own = "192.0.2.1 is already blocked, and for longer: nothing was changed\n\
                   stays blocked by list `manual`: expires 23:28 (in 2 h)\n\
                   adding again extends: with --shorten the entry in list `manual` ends as asked";
        assert_eq!(told([1, 0, 0], vec![entry("192.0.2.1", "manual", Some(1_795_296_480 + 7200))]), own);
        let others = "192.0.2.1 is already blocked; its entry in list `manual` expires in 1 h\n\
                      stays blocked by list `drop`: permanent\n\
                      stays blocked by 192.0.2.0/24 of list `ssh`: permanent";
        let longer = vec![entry("192.0.2.1", "drop", None), entry("192.0.2.0/24", "ssh", None)];
        assert_eq!(told([1, 1, 0], longer.clone()), others);
        assert!(
            told([1, 1, 1], longer).starts_with("blocked 192.0.2.1 for 1 h\nstays blocked by list `drop`")
        );
    }

    #[test]
    fn the_answer_says_what_changed() {
        assert_eq!(told(&["192.0.2.1"], None, [1, 1, 1]), "blocked 192.0.2.1");
        assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 1, 1]), "blocked 192.0.2.1 for 2 h");
        let permanent = "192.0.2.1 is already blocked: list `manual` holds it permanently";
        assert_eq!(told(&["192.0.2.1"], None, [1, 0, 0]), permanent);
        let same = "192.0.2.1 is already blocked until then by list `manual`";
        assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 0, 0]), same);
        let renewed = "192.0.2.1 is already blocked; its entry in list `manual` expires in 2 h";
        assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 1, 0]), renewed);
        let many = "1,000 targets: 10 newly blocked, 5 updated, 985 already blocked";
        assert_eq!(told(&["-"], None, [1000, 15, 10]), many);
        assert_eq!(told(&["-"], None, [1, 1, 1]), "1 target: 1 newly blocked");
        assert_eq!(
            told(&["10.0.0.1-10.0.0.2"], None, [2, 2, 2]),
            "10.0.0.1-10.0.0.2 (2 prefixes): 2 newly blocked"
        );
        assert_eq!(told(&["-"], None, [0, 0, 0]), "");
    }
}
