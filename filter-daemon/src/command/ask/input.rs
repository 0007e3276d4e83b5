//! Targets out of standard input, one a line; `#` and `;` begin comments.

use std::io::{self, BufRead, BufReader, Read};

use filter_common::target::Span;

use crate::control::wire::words;
use crate::text::printable;

/// A longer line is read over and never kept: no target needs a tenth of it.
const LONGEST: usize = 4096;

/// What is read at once: as much as one message to the daemon holds.
const READ_AHEAD: usize = 128 * 1024;

/// Reads line after line.
pub struct Input<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    number: u64,
    read: u64,
}

/// What a line says.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// A target or several.
    Span(Span),
    /// Nothing that was understood; why, and where.
    Bad(String),
}

impl<R: Read> Input<R> {
    /// The lines of `from`.
    pub fn new(from: R) -> Self {
        Self { from: BufReader::with_capacity(READ_AHEAD, from), line: Vec::new(), number: 0, read: 0 }
    }

    /// The next line that says something.
    pub fn next(&mut self) -> io::Result<Option<Line>> {
        while let Some(whole) = self.read_line()? {
            let first = if self.number == 1 { self.line.strip_prefix("\u{feff}".as_bytes()) } else { None };
            let line = first.unwrap_or(&self.line);
            let comment = line.iter().position(|byte| matches!(byte, b'#' | b';'));
            let content = line[..comment.unwrap_or(line.len())].trim_ascii();
            let parsed = match (whole || comment.is_some(), std::str::from_utf8(content)) {
                (true, Ok("")) => continue,
                (true, Ok(word)) => words::span(word),
                (true, Err(_)) => Err(format!("{} is no text", printable::bytes(content))),
                (false, _) => Err(format!("the line has more than {LONGEST} bytes")),
            };
            let bad = |error| Line::Bad(format!("stdin:{}: error: {error}", self.number));
            return Ok(Some(parsed.map_or_else(bad, Line::Span)));
        }
        Ok(None)
    }

    /// May the next line have to be waited for?
    pub fn may_block(&self) -> bool {
        self.from.buffer().is_empty()
    }

    /// How many bytes have been read.
    pub fn position(&self) -> u64 {
        self.read
    }

    /// Reads the beginning of the next line, and over its rest. Tells whether that is all of it.
    fn read_line(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let kept = (&mut self.from).take(LONGEST as u64 + 1).read_until(b'\n', &mut self.line)?;
        let whole = kept <= LONGEST || self.line.ends_with(b"\n");
        let skipped = if whole { 0 } else { self.from.skip_until(b'\n')? };
        self.read += (kept + skipped) as u64;
        self.number += 1;
        Ok((kept > 0).then_some(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: impl Read) -> Vec<String> {
        let mut input = Input::new(text);
        let mut lines = Vec::new();
        while let Some(line) = input.next().unwrap() {
            lines.push(match line {
                Line::Span(span) => span.to_string(),
                Line::Bad(error) => error,
            });
        }
        lines
    }

    #[test]
    fn comments_and_blank_lines_are_skipped() {
        let text =
            "\u{feff}203.0.113.7\n\n# all of this\n  10.0.0.0/8 ; SBL1\r\n\t\n;\n10.0.0.1 - 10.0.0.2#x";
        assert_eq!(lines(text.as_bytes()), ["203.0.113.7", "10.0.0.0/8", "10.0.0.1-10.0.0.2"]);
    }

    #[test]
    fn bad_lines_are_told_with_their_number() {
        let lines = lines(&b"203.0.113.7\n# fine\n10.0.0.1/8\n\xff\xfe\n\0\n"[..]);
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with("stdin:3: error: `10.0.0.1/8` has host bits set"), "{}", lines[1]);
        assert!(
            lines[2].starts_with("stdin:4: error: ") && lines[2].ends_with(" is no text"),
            "{}",
            lines[2]
        );
        assert!(lines[3].starts_with("stdin:5: error: `\\u{0}`"), "{}", lines[3]);
    }

    #[test]
    fn a_line_without_end_costs_its_beginning_and_counts_once() {
        let endless = io::repeat(b'1').take(50_000_000).chain(&b"\n203.0.113.7"[..]);
        let mut input = Input::new(endless);
        assert!(matches!(input.next().unwrap(), Some(Line::Bad(error)) if error.contains("stdin:1: ")));
        assert!(matches!(input.next().unwrap(), Some(Line::Span(_))));
        assert!(input.line.capacity() < 4 * LONGEST);
        assert_eq!(input.position(), 50_000_012);
    }

    #[test]
    fn the_longest_line_is_whole_and_a_long_comment_does_not_count() {
        let longest = format!("{}203.0.113.7\n", " ".repeat(LONGEST - 11));
        let comment = format!("203.0.113.8 # {}\n", "x".repeat(10_000));
        let too_long = format!("{}203.0.113.7\n", " ".repeat(LONGEST - 10));
        let lines = lines(format!("{longest}{comment}{too_long}").as_bytes());
        assert_eq!(lines[..2], ["203.0.113.7", "203.0.113.8"]);
        assert_eq!(lines[2], "stdin:3: error: the line has more than 4096 bytes");
    }
}
