//! A line that names no target: where it is, how it begins, and what is wrong with it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use filter_common::target::ParseTargetError;

/// How many characters of such a line are kept.
const SHOWN: usize = 60;

/// A line that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The file.
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
    /// It has more bytes than are looked at.
    TooLong,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, text, reason } = self;
        write!(f, "{}:{line}: error: {text:?} {reason}", path.display())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTarget(error) => write!(f, "{}: {}", error.fault(), error.hint()),
            Self::More => f.write_str("goes on after its target: begin what follows with #"),
            Self::TooLong => write!(f, "goes on for more than {} bytes", super::lines::LONGEST),
        }
    }
}

/// The beginning of a line, fit to be shown on a terminal.
pub fn excerpt(line: &str) -> String {
    let mut shown: String = line.chars().take(SHOWN).map(printable).collect();
    if line.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Nothing that would move a terminal's cursor, turn its writing direction or take no room.
pub fn printable(character: char) -> char {
    let unseen = matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    );
    if unseen || character.is_control() { '·' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_line_is_told_with_its_place_and_what_was_meant() {
        let error = "10.0.0.1/8".parse::<filter_common::target::Target>().unwrap_err();
        let path = Path::new("drop.txt").into();
        let rejected =
            Rejected { path, line: 17, text: excerpt("10.0.0.1/8"), reason: Reason::NoTarget(error) };
        let told =
            r#"drop.txt:17: error: "10.0.0.1/8" has host bits set: did you mean 10.0.0.0/8 or 10.0.0.1?"#;
        assert_eq!(rejected.to_string(), told);
    }

    #[test]
    fn what_is_shown_cannot_hurt_a_terminal() {
        assert_eq!(excerpt("a\x1b[2Jb\u{202e}c"), "a·[2Jb·c");
        assert_eq!(excerpt(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
        assert_eq!(excerpt(&"é".repeat(60)), "é".repeat(60));
    }
}
