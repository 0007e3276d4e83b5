//! The header of a copy: lines that a person can read as well, and a checksum over them.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::blocklist::Timestamp;
use crate::clock::Moment;
use crate::source::reading::{AcceptedSource, EntryTerm, SourceStamp};

/// The bytes before the list: more than the longest path needs. Unused bytes are zero.
pub const LENGTH: usize = 8192;

/// The first line of every copy.
pub const MAGIC: &str = "filterd copy of a list, 1";

/// The number of bytes after the list (`behind`), and their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimesExtent {
    pub bytes: u64,
    /// The CRC-32 of these bytes.
    pub checksum: u32,
}

/// The content of a header.
#[derive(Debug)]
pub struct Header {
    /// The list that the copy belongs to, with times converted to the reader's own.
    pub accepted: AcceptedSource,
    /// When it was written. Earlier versions of filterd did not record this.
    pub written: Option<Moment>,
    /// The times after the list, if there are any.
    pub times: Option<TimesExtent>,
    /// The number of seconds that were added to convert written times to the reader's own.
    pub shift: i64,
}

/// The header for this moment, with times as the writer sees them. None if it is too long, which no path that
/// can be opened causes.
pub fn of(accepted: &AcceptedSource, written: &Moment, times: Option<TimesExtent>) -> Option<Vec<u8>> {
    let AcceptedSource {
        name,
        path,
        stamp,
        at,
        entries,
        rejected,
        is_missing,
        bytes,
        checksum,
        term,
        meaning,
        peaks,
    } = accepted;
    let stamp = stamp.map_or_else(String::new, |stamp| stamp.0.map(|word| word.to_string()).join(" "));
    let path = path.as_os_str().as_bytes();
    let mut said = format!(
        "name {name}\nstamp {stamp}\nat {}\nentries {entries}\nrejected {rejected}\nmissing {is_missing}\n\
         bytes {bytes}\nchecksum {checksum}\npath {}\n",
        at.secs(),
        path.len()
    )
    .into_bytes();
    said.extend(path);
    said.push(b'\n');
    // Earlier versions of filterd read only up to the path.
    if let Some(EntryTerm { ttl, from }) = term {
        said.extend(format!("term {} {}\n", ttl.as_secs(), from.secs()).into_bytes());
    }
    if let Some(meaning) = meaning {
        said.extend(format!("means {meaning}\n").into_bytes());
    }
    said.extend(format!("written {written}\n").into_bytes());
    if let Some(TimesExtent { bytes, checksum }) = times {
        said.extend(format!("times {bytes} {checksum:08x}\n").into_bytes());
    }
    if !peaks.is_empty() {
        said.extend(format!("peaks {peaks}\n").into_bytes());
    }
    let mut header = format!("{MAGIC}\nsum {:08x} {}\n", crc32fast::hash(&said), said.len()).into_bytes();
    header.extend(said);
    let fits = header.len() <= LENGTH;
    header.resize(LENGTH, 0);
    fits.then_some(header)
}

/// Reads the header, and converts its times for a reader at the moment `here`. The list follows in `input`.
pub fn read(input: &mut impl Read, here: &Moment) -> io::Result<AcceptedSource> {
    read_all(input, here).map(|header| header.accepted)
}

/// Reads the header with all its content.
pub fn read_all(input: &mut impl Read, here: &Moment) -> io::Result<Header> {
    let mut header = vec![0; LENGTH];
    input.read_exact(&mut header)?;
    let Header { accepted, written, times, .. } = parse(&header).ok_or(io::ErrorKind::InvalidData)?;
    // Without the moment of writing, times count as wall-clock times.
    let shift = written.map_or(0, |written| written.shift_to(here).seconds);
    let term = accepted.term.map(|term| EntryTerm { from: term.from.later_by(shift), ..term });
    let (at, peaks) = (accepted.at.later_by(shift), accepted.peaks.later_by(shift));
    let accepted = AcceptedSource { term, at, peaks, ..accepted };
    Ok(Header { accepted, written, times, shift })
}

/// Parses a header without converting its times.
fn parse(header: &[u8]) -> Option<Header> {
    let mut rest = header.strip_prefix(MAGIC.as_bytes())?.strip_prefix(b"\n")?;
    let sum = value(&mut rest, "sum")?;
    let (sum, length) = sum.split_once(' ')?;
    let mut rest = rest.get(..length.parse().ok()?)?;
    if u32::from_str_radix(sum, 16).ok()? != crc32fast::hash(rest) {
        return None;
    }
    let name = value(&mut rest, "name")?.into();
    let stamp = stamp(value(&mut rest, "stamp")?)?;
    let at = Timestamp::from_secs(value(&mut rest, "at")?.parse().ok()?);
    let entries = value(&mut rest, "entries")?.parse().ok()?;
    let rejected = value(&mut rest, "rejected")?.parse().ok()?;
    let is_missing = value(&mut rest, "missing")?.parse().ok()?;
    let bytes = value(&mut rest, "bytes")?.parse().ok()?;
    let checksum = value(&mut rest, "checksum")?.parse().ok()?;
    let length: usize = value(&mut rest, "path")?.parse().ok()?;
    let path = PathBuf::from(OsStr::from_bytes(rest.get(..length)?));
    rest = rest.get(length..)?.strip_prefix(b"\n")?;
    let term = value(&mut rest, "term").and_then(term);
    let meaning = value(&mut rest, "means").and_then(|words| words.parse().ok());
    let written = value(&mut rest, "written").and_then(|words| words.parse().ok());
    let times = value(&mut rest, "times").and_then(extent);
    let peaks = value(&mut rest, "peaks").and_then(|words| words.parse().ok()).unwrap_or_default();
    let accepted = AcceptedSource {
        name,
        path,
        stamp,
        at,
        entries,
        rejected,
        is_missing,
        bytes,
        checksum,
        term,
        meaning,
        peaks,
    };
    Some(Header { accepted, written, times, shift: 0 })
}

fn term(words: &str) -> Option<EntryTerm> {
    let (ttl, from) = words.split_once(' ')?;
    let ttl = Duration::from_secs(ttl.parse().ok()?);
    Some(EntryTerm { ttl, from: Timestamp::from_secs(from.parse().ok()?) })
}

fn extent(words: &str) -> Option<TimesExtent> {
    let (bytes, checksum) = words.split_once(' ')?;
    Some(TimesExtent { bytes: bytes.parse().ok()?, checksum: u32::from_str_radix(checksum, 16).ok()? })
}

fn stamp(words: &str) -> Option<Option<SourceStamp>> {
    if words.is_empty() {
        return Some(None);
    }
    let words: Vec<u64> = words.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    Some(Some(SourceStamp(words.try_into().ok()?)))
}

/// The value of the next line, which must begin with this key.
fn value<'a>(rest: &mut &'a [u8], key: &str) -> Option<&'a str> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let value = std::str::from_utf8(&rest[..end]).ok()?.strip_prefix(key)?.strip_prefix(' ')?;
    *rest = &rest[end + 1..];
    Some(value)
}
