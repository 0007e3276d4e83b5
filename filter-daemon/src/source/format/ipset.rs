//! What `ipset save` writes: sets are created, and entries added. Timeouts, counters and comments say nothing here; `nomatch`
//! makes an exception; entries with a port, an interface or a mark are more than addresses, and rejected.

use std::collections::HashMap;

use filter_common::target::{Prefix, Span, Target};

use super::Rows;
use crate::source::line::{self, Said};
use crate::source::rejected::Reason;
use crate::text::lines::Line;

/// More sets than anybody saves in one file.
const MOST_SETS: usize = 4096;

/// Each is looked for around every entry.
const MOST_EXCEPTIONS: usize = 256;

/// Lines of `ipset save`.
#[derive(Default)]
pub struct Ipset {
    sets: HashMap<Box<[u8]>, Kind>,
    exceptions: Vec<Target>,
}

/// What a set holds.
#[derive(Clone, Copy)]
enum Kind {
    /// Addresses or networks; each address stands for the network of this length around it.
    Addresses(Option<u8>),
    /// More than that.
    More,
}

impl Ipset {
    /// What is to be taken out of what was named; of whichever set, since they are read as one list.
    pub fn exceptions(&self) -> &[Target] {
        &self.exceptions
    }

    fn add<'a>(&mut self, mut words: impl Iterator<Item = &'a [u8]>) -> Option<Result<Span, Reason>> {
        let (Some(set), Some(element)) = (words.next(), words.next()) else { return Some(Err(Reason::Form)) };
        let kind = self.sets.get(set).copied().unwrap_or(Kind::Addresses(None));
        let Kind::Addresses(length) = kind else { return Some(Err(Reason::Kind)) };
        if element.contains(&b',') {
            return Some(Err(Reason::Kind));
        }
        let said = line::target(element).map(|span| widened(span, length));
        let Some(is_exception) = options(words) else { return Some(Err(Reason::Form)) };
        if !is_exception {
            return Some(said);
        }
        match said {
            Err(_) => Some(said),
            Ok(_) if self.exceptions.len() >= MOST_EXCEPTIONS => Some(Err(Reason::Exceptions)),
            Ok(span) => {
                self.exceptions.extend(span);
                None
            }
        }
    }

    fn create<'a>(&mut self, mut words: impl Iterator<Item = &'a [u8]>) -> Option<Result<Span, Reason>> {
        let (Some(set), Some(kind)) = (words.next(), words.next()) else { return Some(Err(Reason::Form)) };
        let options: Vec<_> = words.collect();
        let length = options.iter().position(|word| *word == b"netmask").map(|at| {
            let length = options.get(at + 1).and_then(|word| std::str::from_utf8(word).ok());
            length.and_then(|length| length.parse().ok())
        });
        let is_plain = [&b"hash:ip"[..], b"hash:net", b"bitmap:ip"].contains(&kind);
        let kind = match length {
            None if is_plain => Kind::Addresses(None),
            Some(Some(length)) if is_plain => Kind::Addresses(Some(length)),
            _ => Kind::More,
        };
        let kind = if options.contains(&&b"bitmask"[..]) { Kind::More } else { kind };
        if self.sets.len() < MOST_SETS {
            self.sets.insert(set.into(), kind);
            return None;
        }
        Some(Err(Reason::Form))
    }
}

impl Rows for Ipset {
    fn read<'a>(&mut self, line: &Line<'a>) -> Said<'a> {
        let mark = if line.number == 1 { line.bytes.strip_prefix("\u{feff}".as_bytes()) } else { None };
        let content = mark.unwrap_or(line.bytes).trim_ascii();
        if content.is_empty() || content.starts_with(b"#") {
            return None;
        }
        if !line.whole {
            return Some((content, Err(Reason::TooLong)));
        }
        let mut words = words(content).filter(|word| !matches!(*word, b"-!" | b"-exist" | b"-q"));
        let said = match words.next().unwrap_or_default() {
            b"add" | b"-A" => self.add(words),
            b"create" | b"-N" => self.create(words),
            b"flush" | b"destroy" | b"COMMIT" => None,
            _ => Some(Err(Reason::Form)),
        };
        said.map(|said| (content, said))
    }
}

/// Does an entry with these options make an exception? None where one of them may mean anything.
fn options<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Option<bool> {
    let mut is_exception = false;
    while let Some(word) = words.next() {
        match word {
            b"nomatch" => is_exception = true,
            b"timeout" | b"packets" | b"bytes" | b"comment" | b"skbmark" | b"skbprio" | b"skbqueue" => {
                words.next()?;
            }
            _ => return None,
        }
    }
    Some(is_exception)
}

/// Could it be a line of `ipset save`?
pub fn could_be(line: &[u8]) -> bool {
    let mut words = words(line).filter(|word| !matches!(*word, b"-!" | b"-exist"));
    matches!(words.next(), Some(b"add" | b"create" | b"-A" | b"-N")) && words.nth(1).is_some()
}

/// What blanks part; what is in quotes is one word.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let end = match rest.strip_prefix(b"\"") {
            Some(quoted) => quoted.iter().position(|byte| *byte == b'"').map_or(rest.len(), |end| end + 2),
            None => rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// The network of this length around an address.
fn widened(span: Span, length: Option<u8>) -> Span {
    let mut pieces = span.into_iter();
    match (pieces.next(), pieces.next(), length) {
        (Some(Target::V4(prefix)), None, Some(length)) if length <= prefix.length() => {
            Target::V4(Prefix::covering(prefix.first(), length)).into()
        }
        (Some(Target::V6(prefix)), None, Some(length)) if length <= prefix.length() => {
            Target::V6(Prefix::covering(prefix.first(), length)).into()
        }
        _ => span,
    }
}
