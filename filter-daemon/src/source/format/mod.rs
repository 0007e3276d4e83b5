//! The forms that lists come in: what a list is, by what it begins with, and how its lines are read. Every form gives the same:
//! a target, or what is wrong with this line.

pub mod allowing;
mod csv;
mod dshield;
mod error_page;
pub mod head;
mod how;
pub mod ipset;
mod ipsum;
mod json;
mod lack;
pub mod nft;
mod recognise;

use std::fmt;

use super::line::Said;
use crate::text::lines::Line;
pub use csv::Csv;
pub use dshield::Dshield;
pub use error_page::ErrorPage;
pub use how::{Column, How};
pub use ipset::Ipset;
pub use ipsum::Ipsum;
pub use json::Json;
pub use lack::Lack;
pub use recognise::of;

/// The form of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// An address, prefix or range a line; `#` and `;` begin comments.
    #[default]
    Plain,
    /// FireHOL's `.ipset` and `.netset`: plain, with much to read at its beginning.
    Firehol,
    /// Spamhaus DROP as text: plain, with a number behind each prefix.
    Spamhaus,
    /// Plain, and most of it ranges.
    Ranges,
    /// CSF's `csf.deny` and `csf.allow`: plain, with lines that mean some ports, and lines that name files.
    Csf,
    /// A target and its score, as in ipsum.
    Ipsum,
    /// A table with commas, and one column of targets.
    Csv,
    /// First address, last address and mask.
    Dshield,
    /// A JSON object a line, as Spamhaus DROP has it now.
    Json,
    /// What `ipset save` writes.
    Ipset,
    /// What `nft -j list set` writes.
    Nft,
}

/// Who reads a form line by line.
pub trait Rows {
    /// What this line says.
    fn read<'a>(&mut self, line: &Line<'a>) -> Said<'a>;

    /// What is missing, now that there are no more lines.
    fn lack(&self) -> Option<Lack> {
        None
    }

    /// Why it cannot be read as it is meant to be; to follow the rest of a sentence.
    fn looks(&self) -> Option<&str> {
        None
    }
}

impl Format {
    /// All there are.
    pub const ALL: [Self; 11] = [
        Self::Plain,
        Self::Firehol,
        Self::Spamhaus,
        Self::Ranges,
        Self::Csf,
        Self::Ipsum,
        Self::Csv,
        Self::Dshield,
        Self::Json,
        Self::Ipset,
        Self::Nft,
    ];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Firehol => "firehol",
            Self::Spamhaus => "spamhaus",
            Self::Ranges => "ranges",
            Self::Csf => "csf",
            Self::Ipsum => "ipsum",
            Self::Csv => "csv",
            Self::Dshield => "dshield",
            Self::Json => "json",
            Self::Ipset => "ipset",
            Self::Nft => "nft",
        }
    }

    /// Is a line of it a target, and nothing else?
    #[must_use]
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Plain | Self::Firehol | Self::Spamhaus | Self::Ranges | Self::Csf)
    }

    /// Where much of a list was not understood, it may be something else; to follow the rest of a sentence.
    #[must_use]
    pub const fn taken_for(self) -> &'static str {
        match self {
            Self::Plain | Self::Firehol | Self::Spamhaus | Self::Ranges | Self::Csf => "",
            Self::Ipsum => " (read as ipsum: a target and its score a line)",
            Self::Csv => " (read as csv: a table)",
            Self::Dshield => " (read as dshield: first address, last address and mask)",
            Self::Json => " (read as json: an object a line)",
            Self::Ipset => " (read as ipset: what `ipset save` writes)",
            Self::Nft => " (read as nft: what `nft -j list set` writes)",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
