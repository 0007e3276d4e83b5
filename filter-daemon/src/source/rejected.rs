//! A line that is not a target: its place, its beginning, and the error in it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use filter_common::target::ParseTargetError;

use crate::text::{lines, printable};

/// A rejected line and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedLine {
    /// The file, or the name it is called by.
    pub path: Arc<Path>,
    /// The line number, counted from one.
    pub line: u64,
    /// The beginning of the line in printable characters.
    pub text: String,
    pub reason: RejectReason,
}

/// The reason why a line is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectReason {
    /// The line is not a target.
    NoTarget(ParseTargetError),
    /// The target is followed by text that is not a comment.
    More,
    /// The range contains a large part of all addresses.
    Wide,
    /// The line has more bytes than are examined.
    TooLong,
    /// The entry applies to some ports only.
    Ports,
    /// The entry allows on some ports only. Advice to use `ports:` would block it.
    PortsToAllow,
    /// The line refers to another file.
    Include,
    /// The target has no score.
    NoScore,
    /// The line has no such column.
    NoColumn,
    /// A quotation is opened and not closed.
    OpenQuote,
    /// Its ends and its mask name different addresses.
    Mask,
    /// The entry belongs to a set that holds more than addresses.
    Kind,
    /// There are more exceptions than a set may have.
    Exceptions,
    /// The row, or the rules around the set, say that it allows.
    Allows,
    /// The input is truncated, and the missing part may say that the entry allows.
    Cut,
    /// The text is not valid in this format.
    Form,
    /// The line has no end, and its file is being written.
    Unfinished,
}

impl RejectReason {
    /// True if the line is understood but not supported, or incomplete. CSF's files have such lines.
    #[must_use]
    pub const fn is_unfit(self) -> bool {
        matches!(self, Self::Ports | Self::PortsToAllow | Self::Include | Self::Unfinished)
    }

    /// The reason on a list that allows.
    #[must_use]
    pub fn to_allow(self) -> Self {
        if self == Self::Ports { Self::PortsToAllow } else { self }
    }
}

impl RejectedLine {
    /// A line of this file with this content, and the reason to reject it.
    #[must_use]
    pub fn new(path: &Arc<Path>, line: u64, content: &[u8], reason: RejectReason) -> Self {
        let text = printable::excerpt(&String::from_utf8_lossy(content));
        Self { path: path.clone(), line, text, reason }
    }
}

impl RejectedLine {
    /// The place of the line and the reason, but not its content, which only users who may read the file
    /// should see.
    #[must_use]
    pub fn within(&self) -> String {
        let Self { path, line, reason, .. } = self;
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        printable::sentence(&format!("{file}:{line} {reason}"))
    }
}

impl fmt::Display for RejectedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, text, reason } = self;
        write!(f, "{}:{line}: `{text}` {reason}", printable::path(path))
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTarget(error) => write!(f, "{}: {}", error.fault(), error.hint()),
            Self::More => f.write_str("has text after its target: start comments with #"),
            Self::Wide => f.write_str(
                "is wider than a /8, or a /16 of IPv6: to accept it, set `include_wide: true` on the list",
            ),
            Self::Ports => f.write_str("is for some ports only: define another list with `ports:`"),
            Self::PortsToAllow => f.write_str(
                "is for some ports only, and filterd allows on all ports: if you accept that, put its address into `allow:`",
            ),
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
    fn rejected_line_has_place_and_suggestion() {
        let error = "10.0.0.1/8".parse::<filter_common::target::Target>().unwrap_err();
        let path = Path::new("drop.txt").into();
        let rejected =
            RejectedLine { path, line: 17, text: "10.0.0.1/8".into(), reason: RejectReason::NoTarget(error) };
        let told = r#"drop.txt:17: `10.0.0.1/8` has host bits set: did you mean 10.0.0.0/8 or 10.0.0.1?"#;
        assert_eq!(rejected.to_string(), told);
    }
}
