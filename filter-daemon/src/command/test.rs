//! `filterd test`: is an address dropped, by whom, since when, and when does it expire?

use clap::Args;

use super::ask::target;
use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::moment::Clock;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::test::{Reply, Tested};
use crate::control::wire::words;
use crate::control::wire::{self, Entry, Idle, MOST_ADDRESSES};
use crate::exit::Exit;
use crate::text::printable;

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

impl Test {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        self.check()?;
        let all = ask(&mut Client::connect(socket)?, &self.addresses)?;
        console.answer(&all, |all| render(all, &Clock::system()))?;
        Ok(if all.tested.iter().all(|one| one.dropped) { Exit::Done } else { Exit::No })
    }

    /// Every wrong word is told, and nothing asked.
    fn check(&self) -> Result<(), Trouble> {
        let told = |word: &String| {
            words::address(word).err().map(|error| target::file(word, "test").unwrap_or(error))
        };
        let errors: Vec<_> = self.addresses.iter().filter_map(told).collect();
        if errors.is_empty() { Ok(()) } else { Err(Trouble::unparsable(errors.join("\n"))) }
    }
}

fn ask(client: &mut Client, addresses: &[String]) -> Result<Reply, ClientError> {
    let mut all = Reply::default();
    for addresses in addresses.chunks(MOST_ADDRESSES) {
        client.send(&wire::Test { addresses: addresses.iter().collect() })?;
        loop {
            let part = client.receive::<wire::Test>()?;
            all.tested.extend(part.parameters.tested);
            all.paused_until = all.paused_until.or(part.parameters.paused_until);
            if !part.continues {
                break;
            }
        }
    }
    Ok(all)
}

fn render(all: &Reply, clock: &Clock) -> String {
    let width = all.tested.iter().map(|one| one.address.len()).max().unwrap_or(0);
    let paused = all.paused_until.map(|until| clock.at(until));
    all.tested.iter().map(|one| render_one(one, width, paused.as_deref(), clock)).collect()
}

fn render_one(one: &Tested, width: usize, paused: Option<&str>, clock: &Clock) -> String {
    let until = format!(
        "passes   listed, but protection is paused until {}: it is only counted",
        paused.unwrap_or("now")
    );
    let verdict = match (one.dropped, one.because.is_empty(), one.idle) {
        (true, ..) => "DROPPED  ",
        (false, true, _) if !one.allowed_by.is_empty() => "passes   no list names it but those that allow it",
        (false, false, _) if !one.allowed_by.is_empty() => "passes   listed, but allowed",
        (false, true, _) => "passes   no list names it",
        (_, _, Some(Idle::NothingAttached)) => {
            "passes   listed, but nothing is attached (`filterd status` tells why)"
        }
        (_, _, Some(Idle::Paused)) => &until,
        (_, _, Some(Idle::NotEnforced)) => "passes   listed, but `enforce: false`: it is only counted",
        (false, false, None) => {
            "passes   though listed (what the filter does at the moment: `filterd status`)"
        }
    };
    let mut lines = one.because.iter().map(|entry| render_entry(entry, clock));
    let first = match (one.dropped, one.ports.is_empty()) {
        (false, _) => String::new(),
        (true, true) => lines.next().unwrap_or_default(),
        // Each entry says on which.
        (true, false) => one.ports.join(", and "),
    };
    let mut text = format!("{:<width$}  {}\n", one.address, format!("{verdict}{first}").trim_end());
    let names: Vec<_> = one.except.iter().map(|name| printable::on_one_line(name)).collect();
    let except = (one.dropped && !names.is_empty()).then(|| {
        format!("but not on {}: nothing is filtered there (`filterd status` tells why)", names.join(", "))
    });
    let allowed = one.allowed_by.iter().map(|entry| format!("allowed {}", render_entry(entry, clock)));
    for line in allowed.chain(lines).chain(except) {
        text.push_str(&format!("{:<width$}           {line}\n", ""));
    }
    text
}

fn render_entry(entry: &Entry, clock: &Clock) -> String {
    let by = entry.by.as_ref().map(|by| format!(", added by {by}")).unwrap_or_default();
    let note = entry.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let (since, until) = (clock.of(entry), clock.until(entry.until));
    let ports = entry.ports.as_ref().map(|ports| format!(" ({ports})")).unwrap_or_default();
    format!("by {} of list `{}`{ports}, {since}, {until}{by}{note}", entry.target, entry.list)
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
            by: note.map(|_| "root (filterd add)".to_owned()),
            origin: None,
            ports: None,
        };
        let because = vec![
            entry("203.0.113.7", "manual", NOW - 7200, Some(NOW + 720), Some("brute force")),
            entry("203.0.113.0/24", "drop", NOW - 3 * 86_400, None, None),
        ];
        let tested = vec![
            Tested {
                address: "203.0.113.7".into(),
                dropped: true,
                idle: None,
                except: vec![],
                ports: vec![],
                because,
                allowed_by: vec![],
            },
            Tested {
                address: "192.0.2.1".into(),
                dropped: false,
                idle: None,
                except: vec![],
                ports: vec![],
                because: vec![],
                allowed_by: vec![],
            },
        ];
        let expected = "\
203.0.113.7  DROPPED  by 203.0.113.7 of list `manual`, since 2 h ago, expires 21:40 (in 12 min), added by root (filterd add): brute force
                      by 203.0.113.0/24 of list `drop`, since 3 d ago, permanent
192.0.2.1    passes   no list names it
";
        assert_eq!(render(&Reply { tested, ..Reply::default() }, &Clock::standing(NOW)), expected);
    }

    #[test]
    fn what_is_dropped_on_some_ports_says_on_which() {
        let entry = Entry {
            target: "203.0.113.0/24".into(),
            list: "ssh".into(),
            since: NOW - 7200,
            until: None,
            note: None,
            by: None,
            origin: None,
            ports: Some("on port 22 only".into()),
        };
        let tested = vec![Tested {
            address: "203.0.113.7".into(),
            dropped: true,
            idle: None,
            except: vec![],
            ports: vec!["on port 22 only".into()],
            because: vec![entry],
            allowed_by: vec![],
        }];
        let expected = "\
203.0.113.7  DROPPED  on port 22 only
                      by 203.0.113.0/24 of list `ssh` (on port 22 only), since 2 h ago, permanent
";
        assert_eq!(render(&Reply { tested, ..Reply::default() }, &Clock::standing(NOW)), expected);
    }

    #[test]
    fn what_is_listed_and_allowed_names_both() {
        let entry = |target: &str, list: &str, until| Entry {
            target: target.into(),
            list: list.into(),
            since: NOW - 7200,
            until,
            note: None,
            by: None,
            origin: None,
            ports: None,
        };
        let tested = |because| Tested {
            address: "203.0.113.7".into(),
            dropped: false,
            idle: None,
            except: vec![],
            ports: vec![],
            because,
            allowed_by: vec![entry("203.0.113.0/28", "manual-allow", Some(NOW + 720))],
        };
        let listed = tested(vec![entry("203.0.113.0/24", "drop", None)]);
        let expected = "\
203.0.113.7  passes   listed, but allowed
                      allowed by 203.0.113.0/28 of list `manual-allow`, since 2 h ago, expires 21:40 (in 12 min)
                      by 203.0.113.0/24 of list `drop`, since 2 h ago, permanent
203.0.113.7  passes   no list names it but those that allow it
                      allowed by 203.0.113.0/28 of list `manual-allow`, since 2 h ago, expires 21:40 (in 12 min)
";
        let both = Reply { tested: vec![listed, tested(vec![])], ..Reply::default() };
        assert_eq!(render(&both, &Clock::standing(NOW)), expected);
    }

    #[test]
    fn what_is_listed_and_passes_is_told_as_such() {
        let because = vec![Entry {
            target: "192.0.2.1".into(),
            list: "drop".into(),
            since: NOW,
            until: None,
            note: None,
            by: None,
            origin: None,
            ports: None,
        }];
        let told = |idle| {
            let tested = vec![Tested {
                address: "192.0.2.1".into(),
                dropped: false,
                idle,
                except: vec![],
                ports: vec![],
                because: because.clone(),
                allowed_by: vec![],
            }];
            render(&Reply { tested, ..Reply::default() }, &Clock::standing(NOW))
        };
        assert!(
            told(Some(Idle::NothingAttached))
                .starts_with("192.0.2.1  passes   listed, but nothing is attached")
        );
        assert!(
            told(Some(Idle::NotEnforced)).starts_with("192.0.2.1  passes   listed, but `enforce: false`")
        );
        // A daemon that does not say why.
        let text = told(None);
        assert!(text.starts_with("192.0.2.1  passes   though listed"), "{text}");
        assert!(
            text.contains("\n                    by 192.0.2.1 of list `drop`, since just now, permanent\n"),
            "{text}"
        );
    }
}
