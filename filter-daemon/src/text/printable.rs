//! Makes foreign text safe to display: cut, on one line, and without characters that a terminal or a log
//! would interpret.

use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};
use std::path::Path;

/// The most characters that are shown of one word.
const MOST_CHARS: usize = 60;

/// The most characters that are shown of a sentence with foreign text.
const LONGEST_SENTENCE: usize = 300;

/// Whether this character has an effect other than being displayed: moves the cursor, breaks the line,
/// changes the writing direction, or takes no space.
pub fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The character, or a dot in its place, for lines whose columns must align with the line below.
pub fn narrow(character: char) -> char {
    if is_unseen(character) { '·' } else { character }
}

/// The word in backquotes.
pub fn word(text: &str) -> String {
    format!("`{}`", excerpt(text))
}

/// The beginning of a line in backquotes. The line need not be valid text.
pub fn bytes(line: &[u8]) -> String {
    // Cuts before decoding, because the line may be a megabyte. A character has at most four bytes.
    word(&String::from_utf8_lossy(&line[..line.len().min(4 * MOST_CHARS + 4)]))
}

/// As much of a text as a message has room for.
pub fn excerpt(text: &str) -> String {
    cut(text, MOST_CHARS)
}

/// A sentence from another program that contains foreign text.
pub fn sentence(text: &str) -> String {
    cut(text, LONGEST_SENTENCE)
}

/// A complete text of any content. Nothing is copied unless something must change.
pub fn line(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.into();
    }
    if text.chars().any(is_unseen) {
        text.chars().flat_map(shown).collect::<String>().into()
    } else {
        text.into()
    }
}

/// A complete text whose line ends are kept.
pub fn lines(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A complete text on one line for the log, without its line ends and indents.
pub fn on_one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(line).collect::<Vec<_>>().join("; ")
}

/// A path, which may contain any byte except zero.
pub fn path(path: &Path) -> impl Display + '_ {
    DisplayPath(path)
}

struct DisplayPath<'a>(&'a Path);

impl Display for DisplayPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.to_string_lossy().chars().flat_map(shown).try_for_each(|character| f.write_char(character))
    }
}

fn cut(text: &str, most: usize) -> String {
    let mut cut: String = text.chars().take(most).flat_map(shown).collect();
    if text.chars().nth(most).is_some() {
        cut.push('…');
    }
    cut
}

/// The character, or its escape sequence if it would not be visible.
fn shown(character: char) -> impl Iterator<Item = char> {
    let unseen = is_unseen(character);
    let escaped = unseen.then(|| character.escape_default());
    escaped.into_iter().flatten().chain((!unseen).then_some(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_stay_as_they_are() {
        assert_eq!(word("203.0.113.7"), "`203.0.113.7`");
        assert_eq!(word("größer"), "`größer`");
        assert!(matches!(line("größer"), Cow::Borrowed("größer")));
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(word("a\x1b[31mb\0\n"), "`a\\u{1b}[31mb\\u{0}\\n`");
        assert_eq!(word("\u{202e}evil"), "`\\u{202e}evil`");
        assert_eq!(bytes(b"\xff\xfe{"), "`\u{fffd}\u{fffd}{`");
        assert_eq!(line("a\u{2066}b\u{85}"), "a\\u{2066}b\\u{85}");
        assert_eq!(path(Path::new("/a\n\x07b")).to_string(), "/a\\n\\u{7}b");
    }

    #[test]
    fn line_ends_stay_or_become_semicolons() {
        assert_eq!(lines("a\x07\n  b\n"), "a\\u{7}\n  b\n");
        assert_eq!(on_one_line("a\n    b\x1b\n\nc\n"), "a; b\\u{1b}; c");
    }

    #[test]
    fn long_words_are_cut() {
        let long = "x".repeat(1_000_000);
        assert_eq!(word(&long).chars().count(), MOST_CHARS + 3);
        assert_eq!(bytes(long.as_bytes()).chars().count(), MOST_CHARS + 3);
        assert_eq!(excerpt(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
        assert_eq!(excerpt(&"é".repeat(60)), "é".repeat(60));
    }
}
