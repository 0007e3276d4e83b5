//! How a list is to be read: what its configuration says of it beside where it is and how much it may change.

use std::fmt;
use std::sync::Arc;

use super::Format;
use crate::source::{Database, Special};

/// How a list is to be read. The default is how most are: recognised, as a whole, without what no list means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// What it is; recognised where nobody has said it.
    pub format: Option<Format>,
    /// Which column of a table holds the targets; found where nobody has said it.
    pub column: Option<Column>,
    /// Lines with a lower score are left out; none is where nobody has said it.
    pub min_score: Option<u32>,
    /// The database that it is chosen out of; what is read is the list itself where there is none.
    pub database: Option<Arc<Database>>,
    /// Does it mean private, loopback and other special ranges, or half the internet?
    pub special: Special,
    /// Does the list allow? Then entries that say so are meant.
    pub allows: bool,
}

/// A column of a table, or a key of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Counted from one.
    Number(u16),
    /// As its header calls it.
    Name(Arc<str>),
}

impl How {
    /// A plain list, which is not to be recognised.
    #[must_use]
    pub fn plain(special: Special) -> Self {
        Self { format: Some(Format::Plain), ..Self::recognised(special) }
    }

    /// Does anything of it say what the form is?
    #[must_use]
    pub fn is_about_form(&self) -> bool {
        self.format.is_some() || self.column.is_some() || self.min_score.is_some()
    }

    /// A list of any form.
    #[must_use]
    pub fn recognised(special: Special) -> Self {
        Self { special, ..Self::default() }
    }
}

/// In a few words, the same for what is read alike and for nothing else; none where nothing is said.
impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, column, min_score, database, special, allows: _ } = self;
        let said = [
            format.map(|format| format!("format {format}")),
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
