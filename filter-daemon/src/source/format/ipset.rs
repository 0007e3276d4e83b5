//! Reads the output of `ipset save`: commands that create sets and add entries, possibly with a timeout or a
//! comment. `nomatch` makes an exception. Entries with a port, an interface or a mark are more than
//! addresses, and are rejected.

use std::collections::HashMap;
use std::str::FromStr;

use filter_common::target::{Prefix, Span, Target};

use super::{ReadOptions, RowReader, allowing};
use crate::source::line::{self, Said};
use crate::source::rejected::RejectReason;
use crate::text::lines::Line;

/// The most sets in one file.
const MOST_SETS: usize = 4096;

/// The most exceptions. Each one is compared with every entry.
const MOST_EXCEPTIONS: usize = 256;

/// The lines of `ipset save`.
#[derive(Default)]
pub struct Ipset {
    sets: HashMap<Box<[u8]>, IpsetSet>,
    exceptions: Vec<Target>,
    /// True if the list is meant to allow, so that sets whose names say so are accepted.
    allows: bool,
}

/// An entry of a set. If it is read as part of a list, only its span is used.
pub struct IpsetEntry<'a> {
    pub set: &'a [u8],
    /// The addresses that the entry names.
    pub span: Span,
    /// True if these addresses are to be excluded from other entries.
    pub is_exception: bool,
    /// The seconds that are left, stated by the entry or its set. Zero if the entry stays.
    pub timeout: u64,
    /// The comment without its quotes.
    pub comment: Option<&'a [u8]>,
}

#[derive(Clone, Copy)]
struct IpsetSet {
    kind: IpsetKind,
    /// The timeout of entries that do not state one.
    timeout: u64,
}

/// The type of a set's entries.
#[derive(Clone, Copy)]
enum IpsetKind {
    /// Addresses or networks. Each address stands for the network of this length that contains it.
    Addresses(Option<u8>),
    /// Entries with ports, interfaces or marks.
    More,
}

impl Ipset {
    /// Prepares to read as `how` says.
    pub fn new(how: &ReadOptions) -> Self {
        Self { allows: how.allows, ..Self::default() }
    }

    /// The exceptions of all sets, because all sets are read as one list.
    pub fn exceptions(&self) -> &[Target] {
        &self.exceptions
    }

    /// True if the entries of this set have ports, interfaces or marks.
    pub fn holds_more(&self, set: &[u8]) -> bool {
        self.sets.get(set).is_some_and(|set| matches!(set.kind, IpsetKind::More))
    }

    /// The entry that this line adds, or its error. None if the line adds nothing.
    pub fn entry<'a>(&mut self, line: &Line<'a>) -> Option<(&'a [u8], Result<IpsetEntry<'a>, RejectReason>)> {
        let mark = if line.number == 1 { line.bytes.strip_prefix("\u{feff}".as_bytes()) } else { None };
        let content = mark.unwrap_or(line.bytes).trim_ascii();
        if content.is_empty() || content.starts_with(b"#") {
            return None;
        }
        if !line.whole {
            return Some((content, Err(RejectReason::TooLong)));
        }
        let mut words = words(content).filter(|word| !matches!(*word, b"-!" | b"-exist" | b"-q"));
        let entry = match words.next().unwrap_or_default() {
            b"add" | b"-A" => self.added(words),
            // All the rest of a file whose lines end with CR only would be options.
            b"create" | b"-N" if content.contains(&b'\r') => Err(RejectReason::Form),
            b"create" | b"-N" => return self.create(words).err().map(|reason| (content, Err(reason))),
            b"flush" | b"destroy" | b"COMMIT" => return None,
            _ => Err(RejectReason::Form),
        };
        Some((content, entry))
    }

    fn added<'a>(&self, mut words: impl Iterator<Item = &'a [u8]>) -> Result<IpsetEntry<'a>, RejectReason> {
        let (set, element) = words.next().zip(words.next()).ok_or(RejectReason::Form)?;
        let of_set = self.sets.get(set).copied();
        let IpsetSet { kind, timeout } =
            of_set.unwrap_or(IpsetSet { kind: IpsetKind::Addresses(None), timeout: 0 });
        let IpsetKind::Addresses(length) = kind else { return Err(RejectReason::Kind) };
        if element.contains(&b',') {
            return Err(RejectReason::Kind);
        }
        let span = widened(line::target(element)?, length);
        let entry = IpsetEntry { set, span, is_exception: false, timeout, comment: None };
        with_options(entry, words).ok_or(RejectReason::Form)
    }

    fn create<'a>(&mut self, mut words: impl Iterator<Item = &'a [u8]>) -> Result<(), RejectReason> {
        let (set, kind) = words.next().zip(words.next()).ok_or(RejectReason::Form)?;
        let options: Vec<_> = words.collect();
        let behind = |name: &[u8]| {
            let at = options.iter().position(|word| *word == name)?;
            Some(options.get(at + 1).copied().unwrap_or_default())
        };
        let is_plain = [&b"hash:ip"[..], b"hash:net", b"bitmap:ip"].contains(&kind);
        let kind = match behind(b"netmask") {
            _ if !is_plain || options.contains(&&b"bitmask"[..]) => IpsetKind::More,
            None => IpsetKind::Addresses(None),
            Some(length) => {
                number(length).map_or(IpsetKind::More, |length| IpsetKind::Addresses(Some(length)))
            }
        };
        if self.sets.len() >= MOST_SETS {
            return Err(RejectReason::Form);
        }
        let timeout = behind(b"timeout").and_then(number).unwrap_or_default();
        self.sets.insert(set.into(), IpsetSet { kind, timeout });
        Ok(())
    }

    /// Records the entry if it is an exception. Otherwise returns its span.
    fn listed(&mut self, entry: IpsetEntry<'_>) -> Option<Result<Span, RejectReason>> {
        if !entry.is_exception {
            return Some(Ok(entry.span));
        }
        if self.exceptions.len() >= MOST_EXCEPTIONS {
            return Some(Err(RejectReason::Exceptions));
        }
        self.exceptions.extend(entry.span);
        None
    }
}

impl RowReader for Ipset {
    fn read<'a>(&mut self, line: &Line<'a>) -> Said<'a> {
        let (content, entry) = self.entry(line)?;
        let said = match entry {
            Ok(entry) if !self.allows && allowing::is_exported_set(entry.set) => Err(RejectReason::Allows),
            Ok(entry) => self.listed(entry)?,
            Err(reason) => Err(reason),
        };
        Some((content, said))
    }
}

/// Applies the options of an entry. None if an option is unknown, because it may have any meaning.
fn with_options<'a>(
    mut entry: IpsetEntry<'a>,
    mut words: impl Iterator<Item = &'a [u8]>,
) -> Option<IpsetEntry<'a>> {
    while let Some(word) = words.next() {
        match word {
            b"nomatch" => entry.is_exception = true,
            b"timeout" => entry.timeout = number(words.next()?)?,
            b"comment" => entry.comment = Some(unquoted(words.next()?)),
            b"packets" | b"bytes" | b"skbmark" | b"skbprio" | b"skbqueue" => _ = words.next()?,
            _ => return None,
        }
    }
    Some(entry)
}

fn number<N: FromStr>(word: &[u8]) -> Option<N> {
    str::from_utf8(word).ok()?.parse().ok()
}

fn unquoted(word: &[u8]) -> &[u8] {
    let opened = word.strip_prefix(b"\"").unwrap_or(word);
    opened.strip_suffix(b"\"").unwrap_or(opened)
}

/// The name of the set that this line creates or adds to.
pub fn set_of<'a>(line: &Line<'a>) -> Option<&'a [u8]> {
    let mut words = words(line.bytes).filter(|word| !matches!(*word, b"-!" | b"-exist" | b"-q"));
    matches!(words.next(), Some(b"add" | b"create" | b"-A" | b"-N")).then(|| words.next())?
}

/// True if this may be a line of `ipset save`.
pub fn could_be(line: &[u8]) -> bool {
    let mut words = words(line).filter(|word| !matches!(*word, b"-!" | b"-exist"));
    matches!(words.next(), Some(b"add" | b"create" | b"-A" | b"-N")) && words.nth(1).is_some()
}

/// The words of a line, separated by blanks. Quoted text is one word.
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

/// The network of this length that contains an address.
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
