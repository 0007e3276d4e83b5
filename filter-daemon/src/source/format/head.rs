//! How a list begins: enough of it to see what it is.

use std::io::{self, Read};

/// So much is looked at before anything is read as this or that.
const LENGTH: u64 = 64 * 1024;

/// The beginning of `input`.
pub fn read(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(LENGTH).read_to_end(&mut head)?;
    Ok(head)
}

/// Its lines without blanks around them, the last one only if it is whole.
pub fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let is_whole = (head.len() as u64) < LENGTH - 3;
    let end = if is_whole { head.len() } else { head.iter().rposition(|byte| *byte == b'\n').unwrap_or(0) };
    head[..end].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

/// Does nothing but a comment stand on it?
pub fn is_comment(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'#' | b';'))
}
