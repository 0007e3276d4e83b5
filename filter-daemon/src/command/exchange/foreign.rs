//! Reads lists that others publish, in the same way as lists of the configuration. An entry consists of its
//! target only.

use super::plain::fault;
use super::{EntryReader, Fault, ImportedEntry};
use crate::source::format::{Csv, Dshield, Ipsum, Json, RowReader};
use crate::source::{Format, ReadOptions};
use crate::text::lines::Line;

/// Reads the lines of a published list.
pub struct ForeignListReader {
    rows: Box<dyn RowReader>,
}

impl ForeignListReader {
    /// The reader for a list of this format with this beginning. None for formats that contain more than
    /// targets, and for plain lists.
    pub fn of(format: Format, head: &[u8]) -> Option<Self> {
        let how = ReadOptions::default();
        let rows: Box<dyn RowReader> = match format {
            Format::Ipsum => Box::new(Ipsum::new(&how)),
            Format::Csv => Box::new(Csv::new(head, &how)),
            Format::Dshield => Box::new(Dshield),
            Format::Json => Box::new(Json::new(&how)),
            Format::Plain
            | Format::Firehol
            | Format::Spamhaus
            | Format::Ranges
            | Format::Csf
            | Format::Ipset
            | Format::Nft => return None,
        };
        Some(Self { rows })
    }
}

impl EntryReader for ForeignListReader {
    fn read(&mut self, line: &Line<'_>) -> Option<Result<ImportedEntry, Fault>> {
        let (content, said) = self.rows.read(line)?;
        Some(said.map(ImportedEntry::bare).map_err(|reason| fault(content, reason)))
    }

    fn fault(&self) -> Option<String> {
        self.rows.lack().map(|lack| format!("it {lack}"))
    }
}
