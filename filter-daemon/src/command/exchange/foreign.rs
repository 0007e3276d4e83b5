//! Lists that others publish, read as lists of the configuration are: of each entry nothing but its target is known.

use super::plain::fault;
use super::{Fault, Form, Item};
use crate::source::format::{Csv, Dshield, Ipsum, Json, Rows};
use crate::source::{Format, How};
use crate::text::lines::Line;

/// Reads one.
pub struct Foreign {
    rows: Box<dyn Rows>,
}

impl Foreign {
    /// One of this form that begins so; none for what says more than targets, or is plain.
    pub fn of(format: Format, head: &[u8]) -> Option<Self> {
        let how = How::default();
        let rows: Box<dyn Rows> = match format {
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

impl Form for Foreign {
    fn read(&mut self, line: &Line<'_>) -> Option<Result<Item, Fault>> {
        let (content, said) = self.rows.read(line)?;
        Some(said.map(Item::bare).map_err(|reason| fault(content, reason)))
    }

    fn fault(&self) -> Option<String> {
        self.rows.lack().map(|lack| format!("it {lack}"))
    }
}
