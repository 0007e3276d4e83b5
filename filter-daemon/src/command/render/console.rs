//! Where a command reads and speaks, and to whom: people, programs or nobody. Whatever people are shown passes here,
//! and so nothing foreign does anything to their terminal.

use std::fs::File;
use std::io::{self, Read, Stdin, Write};
use std::os::fd::AsFd;

use serde::Serialize;

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
    /// Standard input.
    pub input: &'a mut (dyn Read + 'a),
    /// Standard output.
    pub out: &'a mut (dyn Write + 'a),
    /// Standard error.
    pub err: &'a mut (dyn Write + 'a),
}

/// Later lines of an error stand below its first, behind the name.
const INDENT: &str = "\n         ";

impl Console<'_> {
    /// The answer: as JSON to programs, as text to people.
    pub fn answer<T: Serialize>(&mut self, reply: &T, text: impl FnOnce(&T) -> String) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        if self.json {
            serde_json::to_writer(&mut self.out, reply)?;
            return writeln!(self.out);
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

    /// What went wrong.
    pub fn complain(&mut self, fault: &Explanation) {
        self.tell(&laid_out(fault));
    }

    /// Sends out what is still held back.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn tell(&mut self, text: &str) {
        // If even standard error is gone, the exit code is all that is left.
        let _ = writeln!(self.err, "{}", printable::lines(text.trim_end()));
    }
}

/// A fault as people read it: behind the program's name, every further line and the remedy below the first.
pub fn laid_out(fault: &Explanation) -> String {
    format!("filterd: {}", fault.lines().map(printable::line).collect::<Vec<_>>().join(INDENT))
}

/// How long standard input is, if it is a file.
pub fn length_of(input: &Stdin) -> Option<u64> {
    let file = File::from(input.as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().filter(|file| file.is_file()).map(|file| file.len())
}
