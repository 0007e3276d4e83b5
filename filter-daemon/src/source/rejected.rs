//! A line that names no target: where it is, how it begins, and what is wrong with it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use filter_common::target::ParseTargetError;

use crate::text::{lines, printable};

/// A line that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The file, or what it is called.
    pub path: Arc<Path>,
    /// The line, counted from one.
    pub line: u64,
    /// How it begins, in printable characters.
    pub text: String,
    /// What is wrong.
    pub reason: Reason,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is no target.
    NoTarget(ParseTargetError),
    /// A target, and then something that is no comment.
    More,
    /// It names a good part of all addresses there are.
    Wide,
    /// It has more bytes than are looked at.
    TooLong,
    /// It is meant for some ports only.
    Ports,
    /// It names another file.
    Include,
    /// There is no score behind its target.
    NoScore,
    /// It has no such column.
    NoColumn,
    /// Quotes are opened and not closed.
    OpenQuote,
    /// Its ends and its mask name different addresses.
    Mask,
    /// It is an entry of a set that holds more than addresses.
    Kind,
    /// More exceptions than a set may have.
    Exceptions,
    /// Its row, or the rules around its set, say that it allows.
    Allows,
    /// The input was cut, and what would say that it allows may be missing.
    Cut,
    /// It is not what this form has here.
    Form,
    /// Its end is not there, and somebody is writing to its file.
    Unfinished,
}

impl Reason {
    /// Is it well understood what the line says, and nothing that a list can have, or not yet? CSF's files have such lines.
    #[must_use]
    pub const fn is_unfit(self) -> bool {
        matches!(self, Self::Ports | Self::Include | Self::Unfinished)
    }
}

impl Rejected {
    /// This, on that line of that file, and what is wrong with it.
    #[must_use]
    pub fn new(path: &Arc<Path>, line: u64, content: &[u8], reason: Reason) -> Self {
        let text = printable::excerpt(&String::from_utf8_lossy(content));
        Self { path: path.clone(), line, text, reason }
    }
}

impl Rejected {
    /// Where in its list it is and what is wrong, but not what it says: that is for whoever may read the file.
    #[must_use]
    pub fn within(&self) -> String {
        let Self { path, line, reason, .. } = self;
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        printable::sentence(&format!("{file}:{line} {reason}"))
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, text, reason } = self;
        write!(f, "{}:{line}: `{text}` {reason}", printable::path(path))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTarget(error) => write!(f, "{}: {}", error.fault(), error.hint()),
            Self::More => f.write_str("has text after its target: start comments with #"),
            Self::Wide => f.write_str(
                "is wider than a /8, or a /16 of IPv6: to accept it, set `include_wide: true` on the list",
            ),
            Self::Ports => f.write_str("is for some ports only: define another list with `ports:`"),
            Self::Include => {
                f.write_str("includes another file: define that as a list, or both as a folder (`path: FOLDER`)")
            }
            Self::NoScore => f.write_str("has no score after its target, but `min_score` needs one"),
            Self::NoColumn => f.write_str("has no column of targets: set `column:` on the list"),
            Self::OpenQuote => f.write_str("has quotes that are not closed"),
            Self::Mask => f.write_str("has a range and a mask that do not agree"),
            Self::Kind => f.write_str("is more than an address (a port, an interface, a mark), and is not blocked"),
            Self::Exceptions => f.write_str("is one exception more than a list may have"),
            Self::Allows => f.write_str("is to be allowed according to its row or a rule, so it is not blocked"),
            Self::Cut => f.write_str("may be an entry to allow, because the input was cut"),
            Self::Form => f.write_str("is not valid in this format"),
            Self::Unfinished => f.write_str(
                "has no line end, and its file is being written: `filterd reload` reads it when it is complete or unchanged for a second",
            ),
            Self::TooLong => write!(f, "is longer than {} bytes", lines::LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_line_is_told_with_its_place_and_what_was_meant() {
        let error = "10.0.0.1/8".parse::<filter_common::target::Target>().unwrap_err();
        let path = Path::new("drop.txt").into();
        let rejected =
            Rejected { path, line: 17, text: "10.0.0.1/8".into(), reason: Reason::NoTarget(error) };
        let told = r#"drop.txt:17: `10.0.0.1/8` has host bits set: did you mean 10.0.0.0/8 or 10.0.0.1?"#;
        assert_eq!(rejected.to_string(), told);
    }
}
