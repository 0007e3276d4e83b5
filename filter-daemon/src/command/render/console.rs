//! The input and output of a command, and its reader: a user, a program, or none. All text for users passes
//! here and is sanitized, so that foreign content cannot control their terminal.

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
    /// The output is JSON, for a program.
    pub json: bool,
    /// Only errors are printed.
    pub quiet: bool,
    /// The input is typed on a terminal.
    pub input_is_terminal: bool,
    /// The input's length, if it is a file.
    pub input_length: Option<u64>,
    /// A progress bar may be shown.
    pub progress: bool,
    /// Reads the time in the local time zone.
    pub clock: &'a dyn Fn() -> Clock,
    /// Reads the standard input.
    pub input: &'a mut (dyn Read + 'a),
    /// Writes the standard output.
    pub out: &'a mut (dyn Write + 'a),
    /// Writes the standard error.
    pub err: &'a mut (dyn Write + 'a),
}

/// Later lines of an error are indented below its first.
const INDENT: &str = "\n  ";

impl Console<'_> {
    /// The time at which an answer is shown.
    pub fn clock(&self) -> Clock {
        (self.clock)()
    }

    /// Writes the answer: as JSON for programs, as text for users.
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

    /// Prints additional information for users.
    pub fn note(&mut self, text: &str) {
        if !self.quiet && !self.json {
            self.tell(text);
        }
    }

    /// Prints an error for users on standard error.
    pub fn complain(&mut self, fault: &Explanation) {
        if !self.json {
            self.tell(&laid_out(fault));
        }
    }

    /// Reports why the command failed. Programs find the error on standard output, and only there.
    pub fn fail(&mut self, failure: &Failure) -> io::Result<()> {
        if self.json {
            return json_line(failure).and_then(|line| self.out.write_all(&line));
        }
        self.complain(failure.explanation());
        Ok(())
    }

    /// Writes all buffered output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Prints after the buffered answer, even if both go to the same place.
    fn tell(&mut self, text: &str) {
        // The next answer meets the same error, and reports it.
        let _ = self.out.flush();
        // If even standard error fails, only the exit code is left.
        let _ = writeln!(self.err, "{}", printable::lines(text.trim_end()));
    }
}

/// The form that programs read: one object on one line, with its version first.
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

/// Writes JSON to standard output without a console.
pub fn print_json(reply: &impl Serialize) {
    // If even standard output fails, only the exit code is left.
    let _ = write_json(reply);
}

/// Writes JSON to standard output, for callers that have nothing else to print.
pub fn write_json(reply: &impl Serialize) -> io::Result<()> {
    json_line(reply).and_then(|line| io::stdout().write_all(&line))
}

/// The exit code after writing to standard output without a console; the same as for a command that has
/// one.
pub fn ended(written: io::Result<()>) -> Exit {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            // If even standard error fails, only the exit code is left.
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

/// The length of standard input, if it is a file.
pub fn length_of(input: &Stdin) -> Option<u64> {
    let file = File::from(input.as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().filter(|file| file.is_file()).map(|file| file.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_output_starts_with_one_version() {
        for (whole, line) in [
            (json!({}), "{\"version\":1}\n"),
            (json!({"a": 1}), "{\"version\":1,\"a\":1}\n"),
            (json!({"version": 1}), "{\"version\":1}\n"),
        ] {
            assert_eq!(json_line(&whole).unwrap(), line.as_bytes());
        }
    }
}
