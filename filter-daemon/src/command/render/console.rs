//! Where a command reads and speaks, and to whom: people, programs or nobody. Whatever people are shown passes here,
//! and so nothing foreign does anything to their terminal.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Stdin, Write};
use std::os::fd::AsFd;

use serde::Serialize;

use super::moment::Clock;
use crate::control::wire::{Failure, VERSION};
use crate::exit::Exit;
use crate::text::{Explanation, printable};

/// The terminal or the pipes of a command.
pub struct Console<'a> {
    /// A program reads.
    pub json: bool,
    /// Nobody reads; only errors are told.
    pub quiet: bool,
    /// Somebody types the input.
    pub input_is_terminal: bool,
    /// How long the input is, if it is a file.
    pub input_length: Option<u64>,
    /// Somebody watches.
    pub progress: bool,
    /// Reads the time, here and now.
    pub clock: &'a dyn Fn() -> Clock,
    /// Standard input.
    pub input: &'a mut (dyn Read + 'a),
    /// Standard output.
    pub out: &'a mut (dyn Write + 'a),
    /// Standard error.
    pub err: &'a mut (dyn Write + 'a),
}

/// Later lines of an error are indented below its first.
const INDENT: &str = "\n  ";

impl Console<'_> {
    /// The time at which an answer is shown.
    pub fn clock(&self) -> Clock {
        (self.clock)()
    }

    /// The answer: as JSON to programs, as text to people.
    pub fn answer<T: Serialize>(&mut self, reply: &T, text: impl FnOnce(&T) -> String) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        if self.json {
            return self.out.write_all(&json_line(reply)?);
        }
        let text = text(reply);
        if text.is_empty() { Ok(()) } else { writeln!(self.out, "{}", printable::lines(text.trim_end())) }
    }

    /// What people should know beside the answer.
    pub fn note(&mut self, text: &str) {
        if !self.quiet && !self.json {
            self.tell(text);
        }
    }

    /// What went wrong: people are told on standard error.
    pub fn complain(&mut self, fault: &Explanation) {
        if !self.json {
            self.tell(&laid_out(fault));
        }
    }

    /// Why the command did not do what it was asked, programs are told on standard output, and only there.
    pub fn fail(&mut self, failure: &Failure) -> io::Result<()> {
        if self.json {
            return json_line(failure).and_then(|line| self.out.write_all(&line));
        }
        self.complain(failure.explanation());
        Ok(())
    }

    /// Sends out what is still held back.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Behind what was answered already, also where both go to the same place.
    fn tell(&mut self, text: &str) {
        // Whoever answers next meets the same error, and tells it.
        let _ = self.out.flush();
        // If even standard error is gone, the exit code is all that is left.
        let _ = writeln!(self.err, "{}", printable::lines(text.trim_end()));
    }
}

/// What programs read: one object on one line, which says first of which version it is.
fn json_line(reply: &impl Serialize) -> io::Result<Vec<u8>> {
    let written = serde_json::to_vec(reply)?;
    let mut line = Vec::with_capacity(written.len() + 16);
    match written.strip_prefix(b"{") {
        Some(fields) if !fields.starts_with(b"\"version\":") => {
            write!(line, "{{\"version\":{VERSION}{}", if fields == b"}" { "" } else { "," })?;
            line.extend_from_slice(fields);
        }
        _ => line = written,
    }
    line.push(b'\n');
    Ok(line)
}

/// The same on standard output, for whoever has no console.
pub fn print_json(reply: &impl Serialize) {
    // If even standard output is gone, the exit code is all that is left.
    let _ = write_json(reply);
}

/// The same, for whoever has nothing else to say than this.
pub fn write_json(reply: &impl Serialize) -> io::Result<()> {
    json_line(reply).and_then(|line| io::stdout().write_all(&line))
}

/// With what it ends that this has been written on standard output, without a console: as any command with one does.
pub fn ended(written: io::Result<()>) -> Exit {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            // If even standard error is gone, the exit code is all that is left.
            let _ = writeln!(io::stderr(), "error: cannot write the answer: {error}");
            Exit::Partly
        }
        _ => Exit::Done,
    }
}

/// An error as people read it: its message, then further lines and the remedy, indented.
pub fn laid_out(fault: &Explanation) -> String {
    format!("error: {}", fault.lines().map(printable::line).collect::<Vec<_>>().join(INDENT))
}

/// How long standard input is, if it is a file.
pub fn length_of(input: &Stdin) -> Option<u64> {
    let file = File::from(input.as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().filter(|file| file.is_file()).map(|file| file.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_for_programs_says_its_version_once_and_first() {
        for (whole, line) in [
            (json!({}), "{\"version\":1}\n"),
            (json!({"a": 1}), "{\"version\":1,\"a\":1}\n"),
            (json!({"version": 1}), "{\"version\":1}\n"),
        ] {
            assert_eq!(json_line(&whole).unwrap(), line.as_bytes());
        }
    }
}
