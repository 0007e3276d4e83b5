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
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, text, reason } = self;
        write!(f, "{}:{line}: error: `{text}` {reason}", printable::path(path))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTarget(error) => write!(f, "{}: {}", error.fault(), error.hint()),
            Self::More => f.write_str("goes on after its target: begin what follows with #"),
            Self::Wide => f.write_str(
                "is wider than a /8, or a /16 of IPv6: where a list means that, its configuration says `include_wide: true`",
            ),
            Self::TooLong => write!(f, "goes on for more than {} bytes", lines::LONGEST),
        }
    }
}

/// Lines of a list that were not understood: how many, and the first of them in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejects {
    /// All of them.
    pub count: u64,
    /// The first.
    pub examples: Vec<String>,
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
        let told =
            r#"drop.txt:17: error: `10.0.0.1/8` has host bits set: did you mean 10.0.0.0/8 or 10.0.0.1?"#;
        assert_eq!(rejected.to_string(), told);
    }
}
