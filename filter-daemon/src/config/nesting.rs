//! Finds brackets that are nested too deep, without the parser, whose time grows with the square of the
//! depth.

/// Ten times the depth of a sensible configuration.
const DEEPEST: usize = 32;

/// The most brackets. A crafted text can hide its depth, but not its number of brackets. The parser needs
/// less than a second for this many, however they are nested.
const MOST: usize = 16_384;

/// The offset of the first excess bracket, the fault and the advice.
///
/// Brackets in comments and quotes do not count towards the depth.
pub fn too_deep(text: &str) -> Option<(usize, &'static str, &'static str)> {
    let (mut depth, mut opened) = (0usize, 0);
    let mut within = NestingState::Values { fresh: true };
    for (at, byte) in text.bytes().enumerate() {
        within = within.after(byte);
        let counts = matches!(within, NestingState::Values { .. });
        match byte {
            b'[' | b'{' => (opened, depth) = (opened + 1, depth + usize::from(counts)),
            b']' | b'}' if counts => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Some((at, "brackets are nested too deep", "no key takes lists within lists"));
        }
        if opened > MOST {
            return Some((at, "there are too many brackets", "put long lists into list files"));
        }
    }
    None
}

#[derive(Clone, Copy)]
enum NestingState {
    /// `fresh` if a value may begin here, and so a quote or, after a blank, a comment.
    Values {
        fresh: bool,
    },
    Single,
    Double {
        escaped: bool,
    },
    Comment,
}

impl NestingState {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Values { fresh: true }, b'\'') => Self::Single,
            (Self::Values { fresh: true }, b'"') => Self::Double { escaped: false },
            (Self::Values { fresh: true }, b'#') => Self::Comment,
            (Self::Values { .. }, _) => Self::Values { fresh: b" \t\r\n[{,:".contains(&byte) },
            // Two of them in a row stand for one in the text, and the second one opens it again.
            (Self::Single, b'\'') => Self::Values { fresh: true },
            (Self::Double { escaped: false }, b'"') => Self::Values { fresh: false },
            (Self::Comment, b'\n' | b'\r') => Self::Values { fresh: true },
            (Self::Double { escaped }, _) => Self::Double { escaped: byte == b'\\' && !escaped },
            (Self::Single | Self::Comment, _) => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Option<usize> {
        too_deep(text).map(|(at, ..)| at)
    }

    #[test]
    fn many_brackets_side_by_side_are_not_deep() {
        assert_eq!(place(&"[{a: []}]".repeat(1000)), None);
    }

    #[test]
    fn the_thirty_third_bracket_is_too_deep() {
        assert_eq!(place(&"[".repeat(32)), None);
        assert_eq!(place(&"[{".repeat(100)), Some(32));
    }

    #[test]
    fn brackets_in_comments_and_quotes_do_not_count() {
        let many = "[".repeat(100);
        assert_eq!(place(&format!("# {many}\na: \"\\\"{many}\"\nb: 'it''s {many}' # {many}")), None);
        assert_eq!(place(&format!("a: it's {many}")), Some(40));
    }

    #[test]
    fn hidden_depth_counts_as_too_many_brackets() {
        let hidden = format!("[a 'b, {}", "[".repeat(100_000));
        assert_eq!(place(&hidden), Some(7 + MOST - 1));
    }

    #[test]
    fn closing_brackets_in_quotes_hide_nothing() {
        assert!(place(&"[']', ".repeat(100)).is_some());
        assert!(place(&"[ # ]\n".repeat(100)).is_some());
    }
}
