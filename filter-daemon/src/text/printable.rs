//! Foreign text made fit to be shown: cut, on one line, and without anything that a terminal or a log would obey.

use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};
use std::path::Path;

/// More than this of one word tells nobody anything.
const MOST_CHARS: usize = 60;

/// More than this of a sentence that quotes foreign text.
const LONGEST_SENTENCE: usize = 300;

/// Would this character do something else than stand there: move the cursor, break the line, turn the direction of
/// writing, or take no room?
pub fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The character, or a dot in its place: for lines that something stands below.
pub fn narrow(character: char) -> char {
    if is_unseen(character) { '·' } else { character }
}

/// The word between backquotes.
pub fn word(text: &str) -> String {
    format!("`{}`", excerpt(text))
}

/// The beginning of a line that may be no text at all, between backquotes.
pub fn bytes(line: &[u8]) -> String {
    // A character has at most four bytes: cut before decoding a megabyte to show a few words of it.
    word(&String::from_utf8_lossy(&line[..line.len().min(4 * MOST_CHARS + 4)]))
}

/// As much of a text as a message has room for.
pub fn excerpt(text: &str) -> String {
    cut(text, MOST_CHARS)
}

/// A sentence that somebody else made out of foreign text.
pub fn sentence(text: &str) -> String {
    cut(text, LONGEST_SENTENCE)
}

/// All of a text, whatever it is; nothing is copied where nothing has to be changed.
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

/// The same for a text whose line ends are meant.
pub fn lines(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// All of a text on one line, as a log needs it, whatever line ends and indents it has.
pub fn on_one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(line).collect::<Vec<_>>().join("; ")
}

/// A path, which may hold any byte but zero.
pub fn path(path: &Path) -> impl Display + '_ {
    OfPath(path)
}

struct OfPath<'a>(&'a Path);

impl Display for OfPath<'_> {
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

/// The character, or how it is written in source code where it would be unseen.
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
    fn nothing_reaches_the_terminal_that_it_would_obey() {
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
