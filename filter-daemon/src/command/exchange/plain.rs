//! Writes and reads one target a line, followed by a comment from which an import restores list, end and
//! note. Entries that allow are completely in comments, so that a reader of plain lists never blocks them.

use std::io::{self, Write};

use filter_common::target::Span;
use jiff::Timestamp;

use super::ending::{BoundaryLines, END, HEAD};
use super::lost::LostDetails;
use super::{EntryReader, EntryWriter, Fault, ImportedEntry};
use crate::config::ListName;
use crate::config::name::MANUAL_OUT_LIST;
use crate::control::wire::lists::ListDetails;
use crate::control::wire::own::Own;
use crate::control::wire::{Entry, words};
use crate::source::{RejectReason, line};
use crate::text::lines::Line;
use crate::text::printable;

/// The beginning of an entry's comment.
const MARK: &str = "# filterd list=";

/// The beginning of a line with an entry that allows.
const ALLOW: &str = "#allow ";

/// The writer of this format.
#[derive(Default)]
pub struct PlainWriter {
    lost: LostDetails,
}

impl EntryWriter for PlainWriter {
    fn begin(&mut self, _: &[ListDetails], out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{HEAD}: `filterd import FILE` brings back list, end and note")
    }

    fn entry(&mut self, entry: &Entry, allow: bool, out: &mut dyn Write) -> io::Result<()> {
        if let Some(ports) = &entry.ports {
            self.lost.leave_out(format!("left out, because it blocks {ports}, and plain has no ports"));
            return Ok(());
        }
        // The name of the live list of destinations says so.
        if entry.direction.is_some() && entry.list != MANUAL_OUT_LIST {
            self.lost
                .leave_out("left out, because it blocks packets to its target, and plain has no directions");
            return Ok(());
        }
        let allow = if allow { ALLOW } else { "" };
        write!(out, "{allow}{:<20} {MARK}{}", entry.target, entry.list)?;
        if let Some(until) = entry.until.and_then(moment) {
            write!(out, " until={until}")?;
        }
        if let Some(note) = &entry.note {
            write!(out, " note={note}")?;
        }
        writeln!(out)
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{END}")
    }

    fn lost(&self) -> &LostDetails {
        &self.lost
    }
}

fn moment(seconds: u64) -> Option<Timestamp> {
    Timestamp::from_second(seconds.try_into().ok()?).ok()
}

/// Reads this format, and any other list with one target a line.
#[derive(Default)]
pub struct PlainReader {
    ending: BoundaryLines,
}

impl EntryReader for PlainReader {
    fn fault(&self) -> Option<String> {
        self.ending.fault()
    }

    fn read(&mut self, line: &Line<'_>) -> Option<Result<ImportedEntry, Fault>> {
        self.ending.note(line);
        let allowed = line.bytes.strip_prefix(ALLOW.as_bytes()).filter(|rest| mark(rest).is_some());
        let line = &Line { bytes: allowed.unwrap_or(line.bytes), ..*line };
        let span = match line::read(line)? {
            (_, Ok(span)) => span,
            (content, Err(reason)) => return Some(Err(fault(content, reason))),
        };
        Some(match mark(line.bytes) {
            Some(mark) => ours(span, mark, allowed.is_some()),
            None => Ok(ImportedEntry::bare(span)),
        })
    }
}

/// The error for a line that should contain a target.
pub fn fault(content: &[u8], reason: RejectReason) -> Fault {
    format!("{} {reason}", printable::bytes(content))
}

/// The details in the comment of an entry that filterd wrote.
fn mark(line: &[u8]) -> Option<&[u8]> {
    let comment = line.iter().position(|byte| *byte == b'#')?;
    line[comment..].strip_prefix(MARK.as_bytes())
}

fn ours(span: Span, mark: &[u8], allow: bool) -> Result<ImportedEntry, Fault> {
    let damaged =
        |why: &str| format!("the comment {} is not one that filterd wrote: {why}", printable::bytes(mark));
    let mark = str::from_utf8(mark).map_err(|_| damaged("it is no text"))?;
    let (head, note) = match mark.split_once(" note=") {
        Some((head, note)) => (head, Some(words::note(note)?)),
        None => (mark, None),
    };
    let mut parts = head.trim_ascii_end().split(' ');
    let list: ListName = words::list_name(parts.next().unwrap_or_default())?;
    let until = match parts.next().map(|word| word.strip_prefix("until=").map(str::parse::<Timestamp>)) {
        None => None,
        Some(Some(Ok(until))) => Some(u64::try_from(until.as_second()).unwrap_or_default()),
        Some(_) => return Err(damaged("write until=2026-11-22T21:30:00Z")),
    };
    match parts.next() {
        None => Ok(ImportedEntry {
            list: Some(list),
            own: Own { until, note },
            allow,
            is_ours: true,
            ..ImportedEntry::bare(span)
        }),
        Some(_) => Err(damaged("more follows behind its end")),
    }
}
