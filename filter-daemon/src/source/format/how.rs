//! How a list is to be read: the settings of its configuration other than its location and limits.

use std::fmt;
use std::sync::Arc;

use super::Format;
use crate::source::{Database, SpecialRanges};

/// The settings for reading a list. By default its format is recognised, and special ranges are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format. Recognised from the content if not set.
    pub format: Option<Format>,
    /// The column of a table that holds the targets. Searched for if not set.
    pub column: Option<Column>,
    /// Lines with a lower score are left out. No line is left out if not set.
    pub min_score: Option<u32>,
    /// The database that the list is selected from. If not set, the file is the list itself.
    pub database: Option<Arc<Database>>,
    /// Whether private, loopback and other special ranges, or very wide prefixes, are meant.
    pub special: SpecialRanges,
    /// Whether the list allows, so that entries which say so are accepted.
    pub allows: bool,
}

/// A column of a table, or a key of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// The number of the column, counted from one.
    Number(u16),
    /// The name in the header.
    Name(Arc<str>),
}

impl ReadOptions {
    /// Settings for a plain list, whose format is not to be recognised.
    #[must_use]
    pub fn plain(special: SpecialRanges) -> Self {
        Self { format: Some(Format::Plain), ..Self::recognised(special) }
    }

    /// True if any setting concerns the format.
    #[must_use]
    pub fn is_about_form(&self) -> bool {
        self.format.is_some() || self.column.is_some() || self.min_score.is_some()
    }

    /// Settings for a list of any format.
    #[must_use]
    pub fn recognised(special: SpecialRanges) -> Self {
        Self { special, ..Self::default() }
    }
}

/// A short description, equal exactly for settings that read a list in the same way. Empty for the defaults.
impl fmt::Display for ReadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, column, min_score, database, special, allows: _ } = self;
        let said = [
            // A database has its own format.
            format.filter(|_| database.is_none()).map(|format| format!("format {format}")),
            column.as_ref().map(|column| format!("column {column}")),
            min_score.map(|score| format!("min_score {score}")),
            database.as_ref().map(|database| database.chosen.to_string()),
            special.included.then(|| "include_special".to_owned()),
            special.wide.then(|| "include_wide".to_owned()),
        ];
        f.write_str(&said.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => write!(f, "`{name}`"),
        }
    }
}
