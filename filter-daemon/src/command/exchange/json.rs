//! filterd's own format: one JSON object a line. The first line names the format, and the last one the
//! number of entries.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::lost::LostDetails;
use super::{EntryReader, EntryWriter, Fault, ImportedEntry};
use crate::command::render::figure::counted_as;
use crate::control::wire::lists::ListDetails;
use crate::control::wire::own::Own;
use crate::control::wire::{Entry, words};
use crate::text::lines::{Content, Line};
use crate::text::printable;

/// Raised when a field changes its meaning. New fields may be added without it.
const VERSION: u32 = 1;

/// A part of the first line, by which the format is recognized.
pub const MARK: &str = "\"filterd\":\"export\"";

/// The first line of an export.
#[derive(Serialize, Deserialize)]
struct JsonHead<'a> {
    version: u32,
    filterd: Cow<'a, str>,
}

/// The last line of an export.
#[derive(Serialize, Deserialize)]
struct JsonTail {
    entries: u64,
}

/// Any other line, with one entry.
#[derive(Serialize, Deserialize)]
struct JsonRow<'a> {
    target: Cow<'a, str>,
    list: Cow<'a, str>,
    /// The end, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ports: Option<Cow<'a, str>>,
    /// `out` or `both`, if packets to it are blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    direction: Option<Cow<'a, str>>,
    /// These three fields are for users and programs; an import ignores them.
    #[serde(default)]
    since: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Cow<'a, str>>,
}

/// Writes and reads the format.
#[derive(Default)]
pub struct JsonExchange {
    /// The number of entries so far.
    entries: u64,
    has_begun: bool,
    /// The number of entries in the last line, once it was read.
    told: Option<u64>,
    lost: LostDetails,
}

impl EntryWriter for JsonExchange {
    fn begin(&mut self, _: &[ListDetails], out: &mut dyn Write) -> io::Result<()> {
        line(&JsonHead { version: VERSION, filterd: "export".into() }, out)
    }

    fn entry(&mut self, entry: &Entry, allow: bool, out: &mut dyn Write) -> io::Result<()> {
        self.entries += 1;
        let text = |text: &'_ Option<String>| text.as_deref().map(str::to_owned).map(Cow::Owned);
        let row = JsonRow {
            target: (&*entry.target).into(),
            list: (&*entry.list).into(),
            until: entry.until,
            note: text(&entry.note),
            allow,
            ports: text(&entry.ports),
            direction: text(&entry.direction),
            since: entry.since,
            by: text(&entry.by),
            origin: text(&entry.origin),
        };
        line(&row, out)
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        line(&JsonTail { entries: self.entries }, out)
    }

    fn lost(&self) -> &LostDetails {
        &self.lost
    }
}

fn line(of: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, of)?;
    out.write_all(b"\n")
}

impl EntryReader for JsonExchange {
    fn read(&mut self, line: &Line<'_>) -> Option<Result<ImportedEntry, Fault>> {
        if line.content() == Content::Nothing {
            return None;
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            return head(line).err().map(Err);
        }
        if let Ok(JsonTail { entries }) = serde_json::from_slice(line.bytes) {
            self.told = Some(entries);
            return None;
        }
        self.entries += 1;
        Some(row(line.bytes))
    }

    fn fault(&self) -> Option<String> {
        let read = counted_as(self.entries, ["entry was", "entries were"]);
        match self.told {
            None => {
                let read = counted_as(self.entries, ["entry", "entries"]);
                Some(format!("the export is incomplete: it ended after {read}"))
            }
            Some(told) if told == self.entries => None,
            Some(told) => {
                let told = counted_as(told, ["entry", "entries"]);
                Some(format!("the export is damaged: {read} read, but its last line says {told}"))
            }
        }
    }
}

fn head(line: &Line<'_>) -> Result<(), Fault> {
    match serde_json::from_slice::<JsonHead<'_>>(line.bytes) {
        Ok(JsonHead { version: ..=VERSION, filterd }) if filterd == "export" => Ok(()),
        Ok(JsonHead { version, .. }) => {
            Err(format!("it has version {version}, but this filterd reads version {VERSION}"))
        }
        Err(_) => Err("this is not the first line of `filterd export --format json`".to_owned()),
    }
}

fn row(bytes: &[u8]) -> Result<ImportedEntry, Fault> {
    let row: JsonRow<'_> = serde_json::from_slice(bytes).map_err(|error| {
        format!("{} is not an entry: {}", printable::bytes(bytes), printable::sentence(&error.to_string()))
    })?;
    let note = row.note.map(|note| words::note(&note)).transpose()?;
    Ok(ImportedEntry {
        list: Some(words::list_name(&row.list)?),
        own: Own { until: row.until, note },
        allow: row.allow,
        on_ports: row.ports.is_some(),
        is_outbound: row.direction.is_some(),
        is_ours: true,
        ..ImportedEntry::bare(words::target(&row.target)?.into())
    })
}
