//! Reads the beginning of a list, which is enough to recognise its format.

use std::io::{self, Read};

/// The number of bytes that are examined before the format is chosen.
const LENGTH: u64 = 64 * 1024;

/// The first bytes of `input`.
pub fn read(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(LENGTH).read_to_end(&mut head)?;
    Ok(head)
}

/// The lines without surrounding blanks. The last one is included only if it is complete.
pub fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let is_whole = (head.len() as u64) < LENGTH - 3;
    let end = if is_whole { head.len() } else { head.iter().rposition(|byte| *byte == b'\n').unwrap_or(0) };
    head[..end].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

/// True if the line is only a comment.
pub fn is_comment(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'#' | b';'))
}
