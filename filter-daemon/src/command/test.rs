//! `filterd test`: shows whether a target is dropped, by which entries, since when, until when, and what
//! would unblock it.

mod remedy;
mod render;

use clap::Args;
use filter_common::target::Target;
use serde::Serialize;

use super::ask::change::STANDARD_INPUT;
use super::ask::input::{InputLine, TargetInput};
use super::ask::target;
use super::ask::trouble::CommandError;
use super::render::console::Console;
use super::render::figure::counted;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::test::Reply;
use crate::control::wire::words;
use crate::control::wire::{self, MOST_ADDRESSES};
use crate::exit::Exit;
use crate::text::Explanation;

#[derive(Debug, Args)]
pub struct Test {
    /// Address, prefix or range a-b, or - to read standard input, one per line
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,
}

/// Further bad lines are counted, but not shown.
const MOST_TOLD: usize = 10;

/// The targets to ask about.
#[derive(Default)]
struct TestInput {
    targets: Vec<String>,
    /// The number of lines of standard input that are not valid.
    rejected: u64,
    /// Errors of the first of these lines. In text output they have been printed already.
    errors: Vec<String>,
}

/// All answers, as JSON.
#[derive(Serialize)]
struct TestOutput {
    #[serde(flatten)]
    reply: Reply,
    /// The number of lines of standard input that are not valid.
    #[serde(skip_serializing_if = "is_none")]
    rejected: u64,
    /// Errors of the first of these lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
}

impl Test {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let TestInput { targets, rejected, errors } = self.read(console)?;
        // Without a question, exit code 0 would be wrong: it says that every target is dropped.
        if targets.is_empty() && rejected == 0 {
            return Err(CommandError::unparsable("standard input names no target".to_owned()));
        }
        let mut reply = ask(&mut Client::connect(socket)?, &targets)?;
        let is_on_trial = reply.on_trial_until.is_some();
        reply.tested.iter_mut().for_each(|one| one.remedies = remedy::all(one, is_on_trial));
        let exit = exit(&reply, rejected);
        let answer = TestOutput { reply, rejected, errors };
        let clock = console.clock();
        console.answer(&answer, |answer| render::all(&answer.reply, &clock))?;
        Ok(exit)
    }

    /// Reads the targets. A wrong word on the command line is an error, and nothing is asked; on standard
    /// input, the valid lines are asked anyway.
    fn read(&self, console: &mut Console) -> Result<TestInput, CommandError> {
        if self.targets == [STANDARD_INPUT] {
            return from_input(console);
        }
        let (mut targets, mut errors) = (Vec::new(), Vec::new());
        for word in &self.targets {
            match words::span(word) {
                Ok(_) if word.parse::<Target>().is_ok() => targets.push(word.clone()),
                // A range consists of as many prefixes as it needs.
                Ok(range) => targets.extend(range.into_iter().map(|target| target.to_string())),
                Err(error) => errors.push(target::file(word, "test").unwrap_or(error)),
            }
        }
        if !errors.is_empty() {
            return Err(CommandError::unparsable(errors.join("\n")));
        }
        Ok(TestInput { targets, ..TestInput::default() })
    }
}

/// The exit code. Lines that are not valid count as in the other commands that read standard input.
fn exit(reply: &Reply, rejected: u64) -> Exit {
    match (rejected, reply.tested.is_empty()) {
        (1.., true) => Exit::Usage,
        (1.., false) => Exit::Partly,
        (0, _) if reply.tested.iter().all(|one| one.dropped) => Exit::Done,
        (0, _) => Exit::No,
    }
}

fn from_input(console: &mut Console) -> Result<TestInput, CommandError> {
    if console.input_is_terminal {
        console.note("enter one target per line, end with Ctrl-D");
    }
    let mut asked = TestInput::default();
    let mut input = TargetInput::new(&mut *console.input);
    while let Some(line) = input.next().map_err(CommandError::Input)? {
        match line {
            // A range consists of as many prefixes as it needs.
            InputLine::Span(span) | InputLine::Listed(span) => {
                asked.targets.extend(span.into_iter().map(|target| target.to_string()));
            }
            InputLine::Json => {
                let why = "standard input is JSON, but must have one target per line";
                let remedy = "to use output of `filterd list --json`: jq -r .target FILE | filterd test -";
                return Err(CommandError::unparsable(Explanation::new(why, remedy)));
            }
            InputLine::Rejected(rejected) => {
                asked.rejected += 1;
                if asked.errors.len() < MOST_TOLD {
                    asked.errors.push(rejected.to_string());
                }
            }
        }
    }
    asked.tell(console);
    Ok(asked)
}

impl TestInput {
    /// Prints the errors of invalid lines.
    fn tell(&self, console: &mut Console) {
        if !console.json {
            self.errors.iter().for_each(|error| drop(writeln!(console.err, "error: {error}")));
        }
        if self.rejected > MOST_TOLD as u64 {
            let all = counted(self.rejected, "line");
            console.complain(&format!("standard input: {all} were not understood in total").into());
        }
    }
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

fn ask(client: &mut Client, targets: &[String]) -> Result<Reply, ClientError> {
    let mut all = Reply::default();
    for targets in targets.chunks(MOST_ADDRESSES) {
        client.send(&wire::Test { addresses: targets.iter().collect() })?;
        loop {
            let part = client.receive::<wire::Test>()?;
            all.tested.extend(part.parameters.tested);
            all.paused_until = all.paused_until.or(part.parameters.paused_until);
            all.replies_pass |= part.parameters.replies_pass;
            all.on_trial_until = all.on_trial_until.or(part.parameters.on_trial_until);
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
    use crate::command::render::moment::Clock;
    use crate::control::wire::test::Tested;

    /// Reads targets from `text`, and returns the messages about the rest.
    fn asked(text: &str) -> (TestInput, String) {
        let (mut input, mut out, mut err) = (text.as_bytes(), Vec::new(), Vec::new());
        let mut console = Console {
            json: false,
            quiet: false,
            input_is_terminal: false,
            input_length: None,
            progress: false,
            clock: &Clock::system,
            input: &mut input,
            out: &mut out,
            err: &mut err,
        };
        let asked = from_input(&mut console).unwrap();
        (asked, String::from_utf8(err).unwrap())
    }

    #[test]
    fn input_takes_one_target_or_range_per_line() {
        let (asked, told) =
            asked("# suspects\n203.0.113.7\n198.51.100.0/24 # all of it\n10.0.0.1-10.0.0.2\n");
        assert_eq!(asked.targets, ["203.0.113.7", "198.51.100.0/24", "10.0.0.1", "10.0.0.2"]);
        assert!(told.is_empty() && asked.rejected == 0, "{told}");
    }

    #[test]
    fn invalid_targets_are_reported_and_others_tested() {
        let (one, told) = asked("203.0.113.7\nnonsense\n192.0.2.1\n");
        assert_eq!(
            (&one.targets[..], one.rejected),
            (&["203.0.113.7".to_owned(), "192.0.2.1".to_owned()][..], 1)
        );
        assert!(told.contains("error: stdin:2: `nonsense`"), "{told}");
        let (many, told) = asked(&"nonsense\n".repeat(3 * MOST_TOLD));
        assert_eq!((many.rejected, many.errors.len()), (3 * MOST_TOLD as u64, MOST_TOLD));
        assert!(told.contains("30 lines were not understood in total"), "{told}");
        assert_eq!(asked("").1, "", "whoever asks for nothing is told by the failure that it is");
    }

    #[test]
    fn invalid_targets_change_the_exit_code() {
        let reply = |verdicts: &[bool]| {
            let tested = verdicts.iter().map(|dropped| Tested { dropped: *dropped, ..Tested::default() });
            Reply { tested: tested.collect(), ..Reply::default() }
        };
        assert_eq!([exit(&reply(&[true]), 0), exit(&reply(&[true, false]), 0)], [Exit::Done, Exit::No]);
        assert_eq!([exit(&reply(&[true]), 1), exit(&reply(&[]), 1)], [Exit::Partly, Exit::Usage]);
    }
}
