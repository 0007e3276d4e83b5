//! The ways in which a list shows that it is incomplete: it breaks off, or has fewer entries than it states.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The last line states a wrong number of entries.
    Records {
        /// The number that it states.
        said: u64,
        /// The number of entries in the list.
        has: u64,
    },
    /// The line that counts the entries is missing.
    Count,
    /// The end of the document is missing.
    End,
    /// The text after this line is not valid.
    Broken {
        /// The line number, counted from one.
        line: u64,
    },
}

/// Written to follow the name of the file.
impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Records { said, has } => write!(f, "says that it has {said} entries, but has {has}"),
            Self::Count => {
                f.write_str("ends without the line that counts its entries: it was probably cut off")
            }
            Self::End => f.write_str("ends in the middle: it was probably cut off"),
            Self::Broken { line } => {
                write!(f, "is broken from line {line} on, and the rest was not read")
            }
        }
    }
}
