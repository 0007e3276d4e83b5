//! `filterd add`: blocks targets from now on.

use std::path::Path;

use clap::Args;

use super::ask::change::{self, Outcome};
use super::ask::trouble::Trouble;
use super::ask::ttl::Ttl;
use super::render::console::Console;
use super::render::figure::{count, counted};
use super::render::moment;
use crate::config::ListName;
use crate::control::wire::strings::Strings;
use crate::control::wire::words;
use crate::control::wire::{self, Changed, Idle};
use crate::exit::Exit;

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
    /// Exit with 4 if nothing changed
    #[arg(long)]
    strict: bool,
}

/// The list of those who add without naming one.
const MANUAL: &str = "manual";

impl Add {
    pub fn execute(&self, socket: &Path, console: &mut Console) -> Result<Exit, Trouble> {
        let outcome = change::apply(&self.targets, socket, console, &|words| self.request(words))?;
        console.answer(&outcome, |outcome| self.render(outcome))?;
        change::tell_durability(&outcome.changed, console);
        Ok(self.exit(&outcome))
    }

    fn request(&self, targets: Strings) -> wire::Add {
        let ttl = self.ttl.map(Ttl::as_secs);
        wire::Add { targets, list: self.list.as_ref().map(ToString::to_string), ttl, note: self.note.clone() }
    }

    /// What is attached nowhere drops nothing, which is not what the configuration says; counting only is.
    fn exit(&self, outcome: &Outcome) -> Exit {
        match (outcome.exit(self.strict), outcome.changed.idle) {
            (Exit::Done, Some(Idle::NothingAttached)) => Exit::Partly,
            (exit, _) => exit,
        }
    }

    fn render(&self, outcome: &Outcome) -> String {
        let Changed { named, changed, entered, idle, .. } = outcome.changed;
        // Nothing is blocked where nothing is dropped.
        let (blocked, but) = match idle {
            None => ("blocked", ""),
            Some(idle) => ("listed", but(idle)),
        };
        let told = match (&self.targets[..], named, changed, entered) {
            (_, 0, ..) => return String::new(),
            ([word], 1, 0, _) if word != "-" => format!("{word} is already {blocked}"),
            ([word], 1, _, 0) if word != "-" => {
                format!("{word} is already {blocked}; its entry in list `{}` {}", self.list(), self.fate())
            }
            ([word], 1, ..) if word != "-" => format!("{blocked} {word}{}", self.length()),
            (_, named, changed, entered) => {
                let mut parts = Vec::new();
                parts.extend(
                    (entered > 0).then(|| format!("{} newly {blocked}{}", count(entered), self.length())),
                );
                let renewed = changed.saturating_sub(entered);
                parts.extend((renewed > 0).then(|| format!("{} updated", count(renewed))));
                let same = named.saturating_sub(changed);
                parts.extend((same > 0).then(|| format!("{} already {blocked}", count(same))));
                format!("{}: {}", counted(named, "target"), parts.join(", "))
            }
        };
        told + but
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

/// What becomes of packets all the same.
fn but(idle: Idle) -> &'static str {
    match idle {
        Idle::NothingAttached => ", but nothing is attached: nothing is dropped (`filterd status` tells why)",
        Idle::NotEnforced => "; `enforce: false`, so it is only counted",
    }
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
            strict: false,
        }
    }

    fn told(words: &[&str], ttl: Option<&str>, [named, changed, entered]: [u64; 3]) -> String {
        let changed = Changed { named, changed, entered, ..Changed::default() };
        add(words, ttl).render(&Outcome { changed, rejected: 0 })
    }

    #[test]
    fn nothing_is_called_blocked_that_passes() {
        let idle = |idle| {
            let changed =
                Changed { named: 1, changed: 1, entered: 1, idle: Some(idle), ..Changed::default() };
            let (add, outcome) = (add(&["192.0.2.1"], None), Outcome { changed, rejected: 0 });
            (add.render(&outcome), add.exit(&outcome))
        };
        let (told, exit) = idle(Idle::NothingAttached);
        let words =
            "listed 192.0.2.1, but nothing is attached: nothing is dropped (`filterd status` tells why)";
        assert_eq!((told.as_str(), exit), (words, Exit::Partly));
        let (told, exit) = idle(Idle::NotEnforced);
        let words = "listed 192.0.2.1; `enforce: false`, so it is only counted";
        assert_eq!((told.as_str(), exit), (words, Exit::Done));
    }

    #[test]
    fn the_answer_says_what_changed() {
        assert_eq!(told(&["192.0.2.1"], None, [1, 1, 1]), "blocked 192.0.2.1");
        assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 1, 1]), "blocked 192.0.2.1 for 2 h");
        assert_eq!(told(&["192.0.2.1"], None, [1, 0, 0]), "192.0.2.1 is already blocked");
        let renewed = "192.0.2.1 is already blocked; its entry in list `manual` expires in 2 h";
        assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 1, 0]), renewed);
        let many = "1,000 targets: 10 newly blocked, 5 updated, 985 already blocked";
        assert_eq!(told(&["-"], None, [1000, 15, 10]), many);
        assert_eq!(told(&["-"], None, [1, 1, 1]), "1 target: 1 newly blocked");
        assert_eq!(told(&["10.0.0.1-10.0.0.2"], None, [2, 2, 2]), "2 targets: 2 newly blocked");
        assert_eq!(told(&["-"], None, [0, 0, 0]), "");
    }
}
