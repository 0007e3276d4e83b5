//! The formats of lists: recognises a format by its beginning, and reads its lines. Every format gives a
//! target or an error for each line.

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
pub use how::{Column, ReadOptions};
pub use ipset::Ipset;
pub use ipsum::Ipsum;
pub use json::Json;
pub use lack::Lack;
pub use recognise::of;

/// The format of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// An address, prefix or range on each line. `#` and `;` begin comments.
    #[default]
    Plain,
    /// FireHOL's `.ipset` and `.netset`: plain, with long comments at the beginning.
    Firehol,
    /// Spamhaus DROP as text: plain, with a number after each prefix.
    Spamhaus,
    /// A plain list that consists mostly of ranges.
    Ranges,
    /// CSF's `csf.deny` and `csf.allow`: plain, with lines that refer to ports or to other files.
    Csf,
    /// A target and its score on each line, as in ipsum.
    Ipsum,
    /// A table with commas, and one column of targets.
    Csv,
    /// First address, last address and mask, as in DShield's lists.
    Dshield,
    /// A JSON object on each line, as in Spamhaus DROP today.
    Json,
    /// The output of `ipset save`.
    Ipset,
    /// The output of `nft -j list set`.
    Nft,
}

/// Reads one format line by line.
pub trait RowReader {
    /// The meaning of this line.
    fn read<'a>(&mut self, line: &Line<'a>) -> Said<'a>;

    /// The missing part of the list, after its last line.
    fn lack(&self) -> Option<Lack> {
        None
    }

    /// The reason why the list cannot be read as configured, written to follow the beginning of a sentence.
    fn looks(&self) -> Option<&str> {
        None
    }
}

impl Format {
    /// All formats that filterd knows.
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

    /// The name of the format in the configuration.
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

    /// True if each line has a target and nothing else.
    #[must_use]
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Plain | Self::Firehol | Self::Spamhaus | Self::Ranges | Self::Csf)
    }

    /// A hint that a list with many invalid lines may have another format, written to follow the beginning of
    /// a sentence.
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
