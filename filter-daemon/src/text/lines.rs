//! Reads the lines of a file or stream of any size through one buffer of fixed size, and removes comments.

use std::io::{self, Read};

use memchr::memchr;

/// The longest line that is returned whole. No target needs a tenth of it.
pub const LONGEST: usize = 4096;

/// Large enough that the cost of system calls is small, and small enough to stay in a processor's cache.
const BUFFER: usize = 128 * 1024;

/// One line without its end.
pub struct Line<'a> {
    /// The line number, counted from one.
    pub number: u64,
    /// The line, or its first [`LONGEST`] bytes.
    pub bytes: &'a [u8],
    /// Whether `bytes` is the complete line.
    pub whole: bool,
    /// Whether a line feed ends it. The last line of a truncated input has none.
    pub is_ended: bool,
}

/// The content of a line, without its comment and without surrounding blanks.
#[derive(Debug, PartialEq)]
pub enum Content<'a> {
    /// A blank line, or only a comment.
    Nothing,
    /// Content, which may not be valid text.
    Says(&'a [u8]),
    /// The beginning of a line that continues beyond the limit.
    TooLong(&'a [u8]),
}

impl<'a> Line<'a> {
    /// The content before a comment. `#` and `;` begin comments. A byte order mark before the first line is
    /// removed.
    pub fn content(&self) -> Content<'a> {
        let mark = if self.number == 1 { self.bytes.strip_prefix("\u{feff}".as_bytes()) } else { None };
        let bytes = mark.unwrap_or(self.bytes);
        let comment = bytes.iter().position(|byte| matches!(byte, b'#' | b';'));
        match bytes[..comment.unwrap_or(bytes.len())].trim_ascii() {
            content if !self.whole && comment.is_none() => Content::TooLong(content),
            [] => Content::Nothing,
            content => Content::Says(content),
        }
    }
}

/// Reads lines one by one. The rest of a long line is skipped and never kept.
pub struct Lines<R> {
    input: R,
    buffer: Box<[u8]>,
    // The bytes that were read but not returned yet.
    start: usize,
    end: usize,
    number: u64,
    in_long_line: bool,
    // The total number of bytes read into the buffer.
    read: u64,
}

impl<R: Read> Lines<R> {
    pub fn new(input: R) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Self { input, buffer, start: 0, end: 0, number: 0, in_long_line: false, read: 0 }
    }

    /// The next line, if there is one.
    pub fn read(&mut self) -> io::Result<Option<Line<'_>>> {
        if self.in_long_line {
            self.skip_line()?;
        }
        loop {
            let ahead = self.end - self.start;
            if let Some(length) = self.line_end() {
                return Ok(Some(self.give(length, length + 1, true)));
            }
            if ahead > LONGEST {
                self.in_long_line = true;
                return Ok(Some(self.give(ahead, ahead, false)));
            }
            if !self.refill()? {
                return Ok((ahead > 0).then(|| self.give(ahead, ahead, false)));
            }
        }
    }

    /// Whether reading the next line may block.
    pub fn may_block(&self) -> bool {
        self.start == self.end
    }

    /// The number of bytes read from the input, including lines that were not returned yet.
    pub fn position(&self) -> u64 {
        self.read
    }

    fn give(&mut self, length: usize, taken: usize, is_ended: bool) -> Line<'_> {
        let (start, shown) = (self.start, length.min(LONGEST));
        self.start += taken;
        self.number += 1;
        let bytes = &self.buffer[start..start + shown];
        Line { number: self.number, bytes, whole: length <= LONGEST, is_ended }
    }

    fn skip_line(&mut self) -> io::Result<()> {
        self.in_long_line = false;
        loop {
            if let Some(length) = self.line_end() {
                self.start += length + 1;
                return Ok(());
            }
            self.start = self.end;
            if !self.refill()? {
                return Ok(());
            }
        }
    }

    fn line_end(&self) -> Option<usize> {
        memchr(b'\n', &self.buffer[self.start..self.end])
    }

    /// Moves the rest to the front and reads more behind it. Returns false at the end of the input.
    fn refill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    self.read += read as u64;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a few bytes at a time, like files on slow media.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (now, later) = self.0.split_at(self.1.min(self.0.len()).min(buffer.len()));
            buffer[..now.len()].copy_from_slice(now);
            self.0 = later;
            Ok(now.len())
        }
    }

    fn read(input: impl Read) -> Vec<(u64, Vec<u8>, bool)> {
        let mut lines = Lines::new(input);
        let mut read = Vec::new();
        while let Some(line) = lines.read().unwrap() {
            read.push((line.number, line.bytes.to_vec(), line.whole));
        }
        read
    }

    #[test]
    fn the_last_line_needs_no_end() {
        assert_eq!(
            read(&b"a\n\nb"[..]),
            [(1, b"a".into(), true), (2, b"".into(), true), (3, b"b".into(), true)]
        );
        assert_eq!(read(&b""[..]), []);
        let mut lines = Lines::new(&b"a\nb"[..]);
        assert!(lines.read().unwrap().unwrap().is_ended);
        assert!(!lines.read().unwrap().unwrap().is_ended);
    }

    #[test]
    fn endless_line_costs_one_buffer() {
        let endless = io::repeat(b'x').take(10_000_000).chain(&b"\nnext"[..]);
        let lines = read(endless);
        assert_eq!(lines, [(1, vec![b'x'; LONGEST], false), (2, b"next".into(), true)]);
    }

    #[test]
    fn longest_line_is_complete_and_longer_is_cut() {
        for (length, whole) in [(LONGEST, true), (LONGEST + 1, false)] {
            let text = "y".repeat(length) + "\nnext";
            let lines = read(Trickle(text.as_bytes(), LONGEST));
            assert_eq!(lines, [(1, vec![b'y'; LONGEST], whole), (2, b"next".into(), true)]);
        }
    }

    #[test]
    fn content_comes_before_the_comment() {
        let content = |number, text: &'static str, whole| {
            let line = Line { number, bytes: text.as_bytes(), whole, is_ended: true };
            match line.content() {
                Content::Nothing => "nothing",
                Content::Says(content) => std::str::from_utf8(content).unwrap(),
                Content::TooLong(_) => "too long",
            }
        };
        assert_eq!(content(1, "\u{feff} a b\t;c", true), "a b");
        assert_eq!(content(2, "\u{feff}a", true), "\u{feff}a");
        assert_eq!(content(1, "a#", true), "a");
        assert_eq!(content(1, " \r", true), "nothing");
        assert_eq!(content(1, "#a", false), "nothing");
        assert_eq!(content(1, "a # b", false), "a");
        assert_eq!(content(1, "a", false), "too long");
    }

    fn lengths() -> impl Strategy<Value = Vec<usize>> {
        prop::collection::vec(prop_oneof![0usize..20, 4090usize..4100, 100_000usize..200_000], 0..8)
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_chunks(
            lengths in lengths(),
            step in prop_oneof![Just(usize::MAX), 3000usize..9000],
        ) {
            let text: String = lengths.iter().map(|length| "y".repeat(*length) + "\n").collect();
            let read = read(Trickle(text.as_bytes(), step));
            prop_assert_eq!(read.len(), lengths.len());
            for ((index, length), (number, bytes, whole)) in lengths.into_iter().enumerate().zip(read) {
                prop_assert_eq!(number, index as u64 + 1);
                prop_assert_eq!((bytes.len(), whole), (length.min(LONGEST), length <= LONGEST));
            }
        }
    }
}
