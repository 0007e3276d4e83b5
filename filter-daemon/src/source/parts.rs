//! Joins the files of a folder into one stream, so that a folder is read, limited and copied as one file is.
//! A marker line before each file has its name, and each file has its own format.

use std::io::{self, Read};

/// The beginning of a marker line. A file that contains such a line counts as two parts, which does no harm.
const MARK: &[u8] = b"# filterd: the file ";

/// Longer names are truncated. No file has one, but a file may itself begin with such a line.
const LONGEST: usize = 255;

/// Large enough that the cost of system calls does not matter.
const BUFFER: usize = 128 * 1024;

/// The marker line before a file of this name.
#[must_use]
pub fn before(name: &str) -> Vec<u8> {
    [MARK, name.as_bytes(), b"\n"].concat()
}

/// True if this is the beginning of a stream of files.
#[must_use]
pub fn begins(head: &[u8]) -> bool {
    head.starts_with(MARK)
}

/// The files of a stream, one after the other. Each one is read to its end.
pub struct FolderParts<R> {
    input: R,
    buffer: Box<[u8]>,
    // Bytes that were read but not returned.
    start: usize,
    end: usize,
    is_at_line: bool,
}

impl<R: Read> FolderParts<R> {
    /// Reads the files of this stream.
    pub fn new(input: R) -> Self {
        Self { input, buffer: vec![0; BUFFER].into(), start: 0, end: 0, is_at_line: true }
    }

    /// Begins the next file, and returns its name if there is one. Skips the rest of the file before it.
    pub fn begin_next(&mut self) -> io::Result<Option<String>> {
        io::copy(self, &mut io::sink())?;
        if !self.fill_to_mark()? {
            return Ok(None);
        }
        let mut name = Vec::new();
        self.start += MARK.len();
        while let Some(byte) = self.byte()?.filter(|byte| *byte != b'\n') {
            if name.len() < LONGEST {
                name.push(byte);
            }
        }
        Ok(Some(String::from_utf8_lossy(&name).into_owned()))
    }

    fn fill_to_mark(&mut self) -> io::Result<bool> {
        while self.end - self.start < MARK.len() && self.refill()? {}
        Ok(self.is_at_line && begins(&self.buffer[self.start..self.end]))
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        if self.start == self.end && !self.refill()? {
            return Ok(None);
        }
        self.start += 1;
        Ok(Some(self.buffer[self.start - 1]))
    }

    /// Moves the remaining bytes to the front, and reads more after them. Returns false at the end of the
    /// input.
    fn refill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let read = self.input.read(&mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read > 0)
    }
}

impl<R: Read> Read for FolderParts<R> {
    /// Reads up to the next marker line.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.fill_to_mark()? {
            return Ok(0);
        }
        let there = &self.buffer[self.start..self.end];
        let there = &there[..there.len().min(into.len())];
        // A line that may begin with a marker is examined before it is returned.
        let next = (0..there.len())
            .find(|at| there[*at] == b'\n' && could_begin(&self.buffer[self.start + at + 1..self.end]));
        let length = next.map_or(there.len(), |at| at + 1);
        into[..length].copy_from_slice(&there[..length]);
        self.start += length;
        self.is_at_line = length > 0 && into[length - 1] == b'\n';
        Ok(length)
    }
}

fn could_begin(line: &[u8]) -> bool {
    let length = line.len().min(MARK.len());
    line[..length] == MARK[..length]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a few bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn parted(stream: &[u8], step: usize) -> Vec<(String, Vec<u8>)> {
        let mut parts = FolderParts::new(Trickle(stream, step));
        let mut all = Vec::new();
        while let Some(name) = parts.begin_next().unwrap() {
            let mut text = Vec::new();
            parts.read_to_end(&mut text).unwrap();
            all.push((name, text));
        }
        all
    }

    #[test]
    fn files_round_trip_in_any_chunks() {
        let files = [("a", "1\n2\n"), ("b", ""), ("c", "# filterd: the\n# filterd\n\nx\n"), ("d", "no end")];
        let stream: Vec<u8> =
            files.iter().flat_map(|(name, text)| [&before(name), text.as_bytes()].concat()).collect();
        for step in [1, 2, 3, 7, 19, 20, 21, 1000] {
            let parts = parted(&stream, step);
            let expected: Vec<_> =
                files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
            assert_eq!(parts, expected, "{step}");
        }
    }

    #[test]
    fn a_name_that_no_file_has_is_cut() {
        let stream = [before(&"a.".repeat(1000)), b"1\n".to_vec()].concat();
        let parts = parted(&stream, 7);
        assert_eq!(parts, [("a.".repeat(1000)[..LONGEST].to_owned(), b"1\n".to_vec())]);
    }

    #[test]
    fn unread_rest_of_file_is_skipped() {
        let stream = [before("a"), b"1\n2\n".to_vec(), before("b"), b"3\n".to_vec()].concat();
        let mut parts = FolderParts::new(&stream[..]);
        assert_eq!(parts.begin_next().unwrap().as_deref(), Some("a"));
        assert_eq!(parts.begin_next().unwrap().as_deref(), Some("b"));
        assert_eq!(parts.begin_next().unwrap(), None);
    }

    proptest! {
        #[test]
        fn every_byte_is_passed_on(lines in prop::collection::vec("(# filterd: the file [ab]{0,3}|[#a\n]{0,5})", 0..20), step in 1usize..40) {
            let stream = format!("{}{}", String::from_utf8(before("x")).unwrap(), lines.join("\n"));
            let again: Vec<u8> = parted(stream.as_bytes(), step).into_iter().flat_map(|(name, text)| [before(&name), text].concat()).collect();
            let stream = if again.len() > stream.len() { stream + "\n" } else { stream };
            prop_assert_eq!(String::from_utf8(again).unwrap(), stream);
        }
    }
}
