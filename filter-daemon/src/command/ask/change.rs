//! The common part of `add` and `remove`: where their targets come from, and how they end.

use filter_common::target::{Span, Target};
use serde::Serialize;

use super::super::render::console::Console;
use super::super::render::figure::counted;
use super::batch::Batches;
use super::input::{InputLine, TargetInput};
use super::interrupt;
use super::progress::ProgressIndicator;
use super::target;
use super::trouble::CommandError;
use crate::control::client::{ClientError, Endpoint};
use crate::control::wire::strings::Strings;
use crate::control::wire::{Changed, Failure, Method};
use crate::exit::Exit;
use crate::text::Explanation;

/// Stands in place of targets that are read from standard input.
pub const STANDARD_INPUT: &str = "-";

/// Further bad lines are counted, but not shown.
const MOST_TOLD: usize = 10;

/// The outcome of a change to targets.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct ChangeOutcome {
    /// The changes that the daemon made.
    #[serde(flatten)]
    pub changed: Changed,
    /// The number of lines of standard input that are not valid.
    pub rejected: u64,
    /// Errors of the first of these lines. In text output they have been printed already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Commands that complete the request, if not all of it was done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<String>,
    /// The reasons for refused messages, whose targets are all guarded.
    #[serde(skip)]
    pub refusals: Vec<Explanation>,
    /// The first targets, for answers about each of them.
    #[serde(skip)]
    pub first: Vec<Target>,
}

impl ChangeOutcome {
    /// The exit code for this outcome.
    pub fn exit(&self, strict: bool) -> Exit {
        if self.changed.not_durable.is_some() {
            return Exit::Partly;
        }
        match (self.rejected, self.changed.named, self.changed.changed) {
            (1.., 0, _) => Exit::Usage,
            (1.., _, _) => Exit::Partly,
            _ if self.changed.refused > 0 => Exit::Partly,
            (0, _, 0) if strict => Exit::Unchanged,
            (0, _, _) => Exit::Done,
        }
    }
}

/// Prints a warning if a change is in effect but would not survive a restart.
pub fn tell_durability(changed: &Changed, console: &mut Console) {
    if let Some(explanation) = &changed.not_durable {
        console.complain(explanation);
    }
}

/// Sends targets to the daemon in messages made by `request`. They come from the command line or from
/// standard input.
pub fn apply<M: Method<Reply = Changed>>(
    words: &[String],
    socket: &Endpoint,
    console: &mut Console,
    request: &dyn Fn(Strings) -> M,
) -> Result<ChangeOutcome, CommandError> {
    if words == [STANDARD_INPUT] {
        let mut batches = Batches::new(socket, request)?;
        return from_input(&mut batches, console);
    }
    let spans = parsed(words, verb::<M>())?;
    let mut batches = Batches::new(socket, request)?;
    let ended = spans.into_iter().try_for_each(|span| batches.push(span)).and_then(|()| batches.finish());
    conclude(&mut batches, ended, Rejects::default())
}

/// Parses all targets, or returns all their errors.
fn parsed(words: &[String], verb: &str) -> Result<Vec<Span>, CommandError> {
    let (good, bad): (Vec<_>, Vec<_>) = words.iter().map(|word| span(word, verb)).partition(Result::is_ok);
    if bad.is_empty() {
        return Ok(good.into_iter().flatten().collect());
    }
    let faults: Vec<_> = bad.into_iter().filter_map(Result::err).collect();
    let mut message = faults.join("\n");
    if faults.len() < words.len() {
        message.push_str("\nnothing was changed");
    }
    Err(CommandError::unparsable(message))
}

fn span(word: &str, verb: &str) -> Result<Span, String> {
    if word == STANDARD_INPUT {
        return Err("`-` reads standard input and must be the only target".to_owned());
    }
    target::span(word, verb)
}

/// The command that uses this method.
fn verb<M: Method>() -> &'static str {
    match M::NAME.rsplit('.').next() {
        Some("Remove") => "remove",
        Some("Allow") => "allow add",
        Some("Disallow") => "allow remove",
        _ => "add",
    }
}

fn from_input<M: Method<Reply = Changed>>(
    batches: &mut Batches<M>,
    console: &mut Console,
) -> Result<ChangeOutcome, CommandError> {
    if console.input_is_terminal {
        console.note("enter one target per line, end with Ctrl-D");
    }
    let progress =
        ProgressIndicator::new(console.progress && !console.input_is_terminal, console.input_length);
    interrupt::tell_when_interrupted(batches.progress(), console.json, "standard input".to_owned());
    let is_file = console.input_length.is_some();
    let mut stream = Stream { batches, read: 0, rejected: Rejects::default(), progress: &progress, is_file };
    let ended = stream.run(console);
    let (read, rejected) = (stream.read, stream.rejected);
    progress.end();
    if rejected.count > MOST_TOLD as u64 {
        let all = counted(rejected.count, "line");
        console.complain(&format!("standard input: {all} were not understood in total").into());
    }
    if read + rejected.count == 0 && ended.is_ok() {
        console.note("standard input names no target");
    }
    match ended {
        Ok(()) => conclude(batches, Ok(()), rejected),
        Err(CommandError::Daemon(error)) => conclude(batches, Err(error), rejected).map_err(nothing_changed),
        Err(trouble) => {
            let done = batches.finish();
            let outcome = conclude(batches, done, rejected)?;
            Err(partly(outcome, trouble))
        }
    }
}

/// Adds to a refusal that nothing was changed. A user who sent many lines wants to know how many were
/// processed; if the daemon refused the first message, none were.
fn nothing_changed(cause: CommandError) -> CommandError {
    let CommandError::Daemon(ClientError::Failed(Failure::Refused(told))) = cause else { return cause };
    let message = format!("{}\nnothing was changed", told.message);
    CommandError::Daemon(ClientError::Failed(Failure::Refused(Explanation { message, ..told })))
}

/// Lines that are not valid.
#[derive(Default)]
struct Rejects {
    count: u64,
    /// The errors of the first of these lines.
    first: Vec<String>,
}

/// Reads standard input and sends its targets to the daemon.
struct Stream<'a, 'b, M> {
    batches: &'a mut Batches<'b, M>,
    read: u64,
    rejected: Rejects,
    progress: &'a ProgressIndicator,
    /// A file never makes its reader wait.
    is_file: bool,
}

impl<M: Method<Reply = Changed>> Stream<'_, '_, M> {
    fn run(&mut self, console: &mut Console) -> Result<(), CommandError> {
        let mut input = TargetInput::new(&mut *console.input);
        let (json, err) = (console.json, &mut *console.err);
        while let Some(line) = input.next().map_err(CommandError::Input)? {
            match line {
                InputLine::Json => return Err(json_lines(verb::<M>())),
                InputLine::Listed(_) if verb::<M>().ends_with("add") => return Err(of_list(verb::<M>())),
                InputLine::Span(span) | InputLine::Listed(span) => {
                    self.read += 1;
                    self.batches.push(span)?;
                    self.progress.show(self.read, input.position());
                }
                InputLine::Rejected(mut rejected) => {
                    if verb::<M>() == "allow add" {
                        rejected.reason = rejected.reason.to_allow();
                    }
                    self.rejected.count += 1;
                    if self.rejected.first.len() < MOST_TOLD {
                        // The error is printed at once, because the next line may take a while.
                        if !json {
                            self.progress.above(|| drop(writeln!(err, "error: {rejected}")));
                        }
                        self.rejected.first.push(rejected.to_string());
                    }
                }
            }
            if !self.is_file && input.may_block() {
                self.batches.pause()?;
            }
        }
        Ok(self.batches.finish()?)
    }
}

fn conclude<M: Method<Reply = Changed>>(
    batches: &mut Batches<M>,
    ended: Result<(), ClientError>,
    rejected: Rejects,
) -> Result<ChangeOutcome, CommandError> {
    let changed = batches.done(&ended);
    let (errors, first, refusals) = (rejected.first, batches.first(), batches.refusals());
    let rejected = rejected.count;
    let outcome = ChangeOutcome { changed, rejected, errors, remedies: Vec::new(), refusals, first };
    match ended {
        Ok(()) => unless_all_guarded(outcome),
        Err(error) => Err(partly(outcome, error.into())),
    }
}

/// Turns an outcome into an error if only guarded targets were named.
pub fn unless_all_guarded(outcome: ChangeOutcome) -> Result<ChangeOutcome, CommandError> {
    let nothing_else = outcome.changed.named == 0 && outcome.rejected == 0 && !outcome.refusals.is_empty();
    match nothing_else {
        true => Err(CommandError::Refused(Failure::Guarded(joined(outcome.refusals)))),
        false => Ok(outcome),
    }
}

/// Combines several refusals into one.
fn joined(refusals: Vec<Explanation>) -> Explanation {
    let remedy = refusals.first().and_then(|first| first.remedy.clone());
    let message = refusals.into_iter().map(|one| one.message).collect::<Vec<_>>().join("\n");
    Explanation { message, remedy }
}

/// The error of a command that had done part of its work.
pub fn partly(done: ChangeOutcome, cause: CommandError) -> CommandError {
    if done.changed.named == 0 {
        return cause;
    }
    CommandError::Partly { done: Box::new(done), cause: Box::new(cause) }
}

fn json_lines(verb: &str) -> CommandError {
    CommandError::unparsable(Explanation::new(
        "standard input is JSON, but must have one target per line",
        format!("to use output of `filterd list --json`: jq -r .target FILE | filterd {verb} -"),
    ))
}

/// The error for input that `filterd list` printed. It is not accepted as a list of targets, because the
/// details after each target would be lost.
fn of_list(verb: &str) -> CommandError {
    let does = if verb == "add" { "block" } else { "take" };
    CommandError::unparsable(Explanation::new(
        format!(
            "standard input is output of `filterd list`: `{verb}` would lose the list, expiry time and note of each entry"
        ),
        format!(
            "to keep them, use `filterd export` and `filterd import`\nto {does} only the targets: cut -d'#' -f1 FILE | filterd {verb} - --ttl TIME --list NAME"
        ),
    ))
}
