//! `filterd test`: is a target dropped, by whom, since when, until when, and what would have to be removed?

mod remedy;
mod render;

use std::io;

use clap::Args;

use super::ask::input::{Input, Line};
use super::ask::target;
use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::moment::Clock;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::test::Reply;
use crate::control::wire::words;
use crate::control::wire::{self, MOST_ADDRESSES};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
A prefix is dropped if packets from every address of it are. Exit status: 0 if all targets are dropped, 1 if one is not, or
only in part.

Examples:
  filterd test 203.0.113.7
  filterd test 203.0.113.0/24 2001:db8::1 --json
  filterd test - < suspects.txt
  filterd -q test 203.0.113.7 && echo dropped")]
pub struct Test {
    /// Addresses and prefixes, or - for standard input, one a line
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,
}

/// So many wrong lines are told.
const MOST_TOLD: usize = 10;

impl Test {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let targets = self.read(console)?;
        let mut all = ask(&mut Client::connect(socket)?, &targets)?;
        all.tested.iter_mut().for_each(|one| one.remedies = remedy::all(one));
        console.answer(&all, |all| render::all(all, &Clock::system()))?;
        Ok(if all.tested.iter().all(|one| one.dropped) { Exit::Done } else { Exit::No })
    }

    /// Every wrong word is told, and nothing asked.
    fn read(&self, console: &mut Console) -> Result<Vec<String>, Trouble> {
        if self.targets == ["-"] {
            return from_input(&mut *console.input);
        }
        let told = |word: &String| {
            words::target(word).err().map(|error| target::file(word, "test").unwrap_or(error))
        };
        let errors: Vec<_> = self.targets.iter().filter_map(told).collect();
        if errors.is_empty() { Ok(self.targets.clone()) } else { Err(Trouble::unparsable(errors.join("\n"))) }
    }
}

fn from_input(input: impl io::Read) -> Result<Vec<String>, Trouble> {
    let (mut input, mut targets, mut wrong) = (Input::new(input), Vec::new(), Vec::new());
    let unread = |error: io::Error| Trouble::unparsable(format!("standard input cannot be read: {error}"));
    while let Some(line) = input.next().map_err(unread)? {
        match line {
            // A range is as many prefixes as it takes.
            Line::Span(span) | Line::Listed(span) => {
                targets.extend(span.into_iter().map(|target| target.to_string()));
            }
            Line::Json => {
                wrong.push("standard input is JSON: `jq -r .target` makes targets of it".to_owned())
            }
            Line::Rejected(rejected) => wrong.push(rejected.to_string()),
        }
        if wrong.len() >= MOST_TOLD {
            break;
        }
    }
    if wrong.is_empty() { Ok(targets) } else { Err(Trouble::unparsable(wrong.join("\n"))) }
}

fn ask(client: &mut Client, targets: &[String]) -> Result<Reply, ClientError> {
    let mut all = Reply::default();
    for targets in targets.chunks(MOST_ADDRESSES) {
        client.send(&wire::Test { addresses: targets.iter().collect() })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_has_targets_one_a_line_and_ranges_are_prefixes() {
        let text = "# suspects\n203.0.113.7\n198.51.100.0/24 # all of it\n10.0.0.1-10.0.0.2\n";
        let targets = from_input(text.as_bytes()).unwrap();
        assert_eq!(targets, ["203.0.113.7", "198.51.100.0/24", "10.0.0.1", "10.0.0.2"]);
        assert!(from_input(&b"203.0.113.7\nnonsense\n"[..]).is_err(), "nothing is asked");
        assert!(from_input(&b""[..]).unwrap().is_empty());
    }
}
