//! What is missing of a list by its own words: it breaks off, or has not as many entries as it says.

use std::fmt;

/// What is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Its last line says that it has so many entries, and it has so many.
    Records {
        /// What it says.
        said: u64,
        /// What it has.
        has: u64,
    },
    /// The line that tells how many entries there are.
    Count,
    /// The end of its document.
    End,
    /// What follows this line can be nothing of the kind.
    Broken {
        /// Counted from one.
        line: u64,
    },
}

/// Follows the name of the file.
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
