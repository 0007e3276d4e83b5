//! Reads targets from standard input, one on each line, by the rules of list files.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use filter_common::target::Span;

use super::super::render::entry;
use crate::source::{RejectedLine, line};
use crate::text::lines::Lines;

/// The name of standard input in messages about its lines.
const NAME: &str = "stdin";

/// Reads targets line by line.
pub struct TargetInput<R> {
    lines: Lines<R>,
    name: Arc<Path>,
}

/// The content of a line.
#[derive(Debug, PartialEq)]
pub enum InputLine {
    /// A target, or several.
    Span(Span),
    /// A target followed by the details that `filterd list` prints.
    Listed(Span),
    /// A line of JSON, which no list of targets contains.
    Json,
    /// A line that is not valid.
    Rejected(RejectedLine),
}

impl<R: Read> TargetInput<R> {
    /// Reads the lines of `from`.
    pub fn new(from: R) -> Self {
        Self { lines: Lines::new(from), name: Path::new(NAME).into() }
    }

    /// The next line that is not empty or a comment.
    pub fn next(&mut self) -> io::Result<Option<InputLine>> {
        while let Some(next) = self.lines.read()? {
            match line::read(&next) {
                None => {}
                Some((_, Ok(span))) if entry::is_line(next.bytes) => {
                    return Ok(Some(InputLine::Listed(span)));
                }
                Some((_, Ok(span))) => return Ok(Some(InputLine::Span(span))),
                Some((content, Err(_))) if content.starts_with(b"{") => return Ok(Some(InputLine::Json)),
                Some((content, Err(reason))) => {
                    let rejected = RejectedLine::new(&self.name, next.number, content, reason);
                    return Ok(Some(InputLine::Rejected(rejected)));
                }
            }
        }
        Ok(None)
    }

    /// Returns whether reading the next line may block.
    pub fn may_block(&self) -> bool {
        self.lines.may_block()
    }

    /// The number of bytes that have been read.
    pub fn position(&self) -> u64 {
        self.lines.position()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: impl Read) -> Vec<String> {
        let mut input = TargetInput::new(text);
        let mut lines = Vec::new();
        while let Some(line) = input.next().unwrap() {
            lines.push(match line {
                InputLine::Span(span) | InputLine::Listed(span) => span.to_string(),
                InputLine::Rejected(rejected) => rejected.to_string(),
                InputLine::Json => "JSON".to_owned(),
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
    fn bad_lines_are_reported_with_number() {
        let lines = lines(&b"203.0.113.7\n# fine\n10.0.0.1/8\n\xff\xfe\n\0\n"[..]);
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with("stdin:3: `10.0.0.1/8` has host bits set"), "{}", lines[1]);
        assert!(lines[2].starts_with("stdin:4: `\u{fffd}\u{fffd}`"), "{}", lines[2]);
        assert!(lines[3].starts_with("stdin:5: `\\u{0}`"), "{}", lines[3]);
    }

    #[test]
    fn line_means_the_same_in_input_and_file() {
        let text = "203.0.113.7 evil\n203.0.113.7,1\nevil\n10.0.0.1/8\n\u{202e}x\n\x1b[2J\n::1%lo\n";
        let place = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&place, format!("192.0.2.1\n{text}")).unwrap();
        use crate::source::{ReadOptions, SpecialRanges};
        let limits = crate::source::Limits::default();
        let progress = crate::source::patience::ReadProgress::default();
        let file = crate::source::list::read(
            place.path(),
            &limits,
            &ReadOptions::plain(SpecialRanges::INCLUDED),
            progress,
        )
        .unwrap();
        let path = place.path().display().to_string();
        let of_file: Vec<_> =
            file.rejected.iter().map(|line| line.to_string().replace(&path, NAME)).collect();
        assert_eq!(of_file.len(), 7);
        assert_eq!(lines(format!("\n{text}").as_bytes()), of_file);
        let more = "stdin:2: `203.0.113.7 evil` has text after its target: start comments with #";
        assert_eq!(of_file[0], more);
    }

    #[test]
    fn a_line_without_end_counts_once() {
        let endless = io::repeat(b'1').take(50_000_000).chain(&b"\n203.0.113.7"[..]);
        let mut input = TargetInput::new(endless);
        let Some(InputLine::Rejected(rejected)) = input.next().unwrap() else {
            panic!("no line is that long")
        };
        assert!(rejected.to_string().starts_with("stdin:1: `111"), "{rejected}");
        assert!(matches!(input.next().unwrap(), Some(InputLine::Span(_))));
        assert_eq!(input.position(), 50_000_012);
    }
}
