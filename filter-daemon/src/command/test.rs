//! `filterd test`: is an address dropped, by whom, since when and until when?

use std::path::Path;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::console::Console;
use super::moment::Clock;
use super::trouble::Trouble;
use crate::control::client::{Client, ClientError};
use crate::control::request;
use crate::control::wire::{self, Entry, MOST_ADDRESSES, Request};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd test 203.0.113.7
  filterd test 203.0.113.7 2001:db8::1 --json
  filterd -q test 203.0.113.7 && echo dropped")]
pub struct Test {
    /// A single address
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
}

/// All answers together.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Tested {
    tested: Vec<wire::Tested>,
}

impl Test {
    pub fn execute(&self, socket: &Path, console: &mut Console) -> Result<Exit, Trouble> {
        self.check()?;
        let all = ask(&mut Client::connect(socket)?, &self.addresses)?;
        console.answer(&all, |all| told(all, &Clock::system()))?;
        Ok(if all.tested.iter().all(|one| one.dropped) { Exit::Done } else { Exit::No })
    }

    /// Every wrong word is told, and nothing asked.
    fn check(&self) -> Result<(), Trouble> {
        let errors: Vec<_> = self.addresses.iter().filter_map(|word| request::address(word).err()).collect();
        if errors.is_empty() { Ok(()) } else { Err(Trouble::unparsable(errors.join("\n"))) }
    }
}

fn ask(client: &mut Client, addresses: &[String]) -> Result<Tested, ClientError> {
    let mut all = Tested::default();
    for addresses in addresses.chunks(MOST_ADDRESSES) {
        client.send(&Request::Test(wire::Test { addresses: addresses.iter().collect() }))?;
        loop {
            let part = client.receive::<Tested>()?;
            all.tested.extend(part.parameters.tested);
            if !part.continues {
                break;
            }
        }
    }
    Ok(all)
}

fn told(all: &Tested, clock: &Clock) -> String {
    let width = all.tested.iter().map(|one| one.address.len()).max().unwrap_or(0);
    all.tested.iter().map(|one| told_of(one, width, clock)).collect()
}

fn told_of(one: &wire::Tested, width: usize, clock: &Clock) -> String {
    let verdict = match (one.dropped, one.because.is_empty()) {
        (true, _) => "DROPPED  ",
        (false, true) => "passes   no list names it",
        (false, false) => "passes   though listed (what the filter does at the moment: `filterd status`)",
    };
    let mut lines = one.because.iter().map(|entry| told_why(entry, clock));
    let first = if one.dropped { lines.next().unwrap_or_default() } else { String::new() };
    let mut text = format!("{:<width$}  {}\n", one.address, format!("{verdict}{first}").trim_end());
    for line in lines {
        text.push_str(&format!("{:<width$}           {line}\n", ""));
    }
    text
}

fn told_why(entry: &Entry, clock: &Clock) -> String {
    let note = entry.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let (since, until) = (clock.since(entry.since), clock.until(entry.until));
    format!("by {} of list `{}`, {since}, {until}{note}", entry.target, entry.list)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21 21:28:00 UTC.
    const NOW: u64 = 1_795_296_480;

    #[test]
    fn the_answer_names_every_entry_with_its_times() {
        let entry = |target: &str, list: &str, since, until, note: Option<&str>| Entry {
            target: target.into(),
            list: list.into(),
            since,
            until,
            note: note.map(str::to_owned),
        };
        let because = vec![
            entry("203.0.113.7", "manual", NOW - 7200, Some(NOW + 720), Some("brute force")),
            entry("203.0.113.0/24", "drop", NOW - 3 * 86_400, None, None),
        ];
        let tested = vec![
            wire::Tested { address: "203.0.113.7".into(), dropped: true, because },
            wire::Tested { address: "192.0.2.1".into(), dropped: false, because: vec![] },
        ];
        let expected = "\
203.0.113.7  DROPPED  by 203.0.113.7 of list `manual`, since 2 h ago, until 21:40 (in 12 min): brute force
                      by 203.0.113.0/24 of list `drop`, since 3 d ago, for good
192.0.2.1    passes   no list names it
";
        assert_eq!(told(&Tested { tested }, &Clock::standing(NOW)), expected);
    }

    #[test]
    fn what_is_listed_and_passes_is_told_as_such() {
        let because = vec![Entry {
            target: "192.0.2.1".into(),
            list: "drop".into(),
            since: NOW,
            until: None,
            note: None,
        }];
        let tested = vec![wire::Tested { address: "192.0.2.1".into(), dropped: false, because }];
        let text = told(&Tested { tested }, &Clock::standing(NOW));
        assert!(text.starts_with("192.0.2.1  passes   though listed"), "{text}");
        assert!(
            text.contains("\n                    by 192.0.2.1 of list `drop`, since just now, for good\n"),
            "{text}"
        );
    }
}
