//! The forms that lists come in: how one is to be read, and what it was recognised as.

mod how;

use std::fmt;

pub use how::{Column, How};

/// The form of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// An address, prefix or range a line, `#` and `;` begin comments.
    #[default]
    Plain,
}

impl Format {
    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
