//! Foreign text made fit to stand in a message: cut, and without anything a terminal would obey.

/// More than this of one word tells nobody anything.
const MOST_CHARS: usize = 60;

/// More than this of a sentence that quotes foreign text.
const LONGEST_SENTENCE: usize = 300;

/// The word between backquotes.
pub fn word(text: &str) -> String {
    format!("`{}`", cut(text, MOST_CHARS))
}

/// The beginning of a line that may be no text at all, between backquotes.
pub fn bytes(line: &[u8]) -> String {
    // A character has at most four bytes: cut before decoding a megabyte to show a few words of it.
    word(&String::from_utf8_lossy(&line[..line.len().min(4 * MOST_CHARS + 4)]))
}

/// A sentence that somebody else made out of foreign text.
pub fn sentence(text: &str) -> String {
    cut(text, LONGEST_SENTENCE)
}

fn cut(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).flat_map(harmless).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// Escapes what moves the cursor, colours the line or turns the direction of writing.
fn harmless(character: char) -> impl Iterator<Item = char> {
    let plain = !character.is_control()
        && !matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let escaped = (!plain).then(|| character.escape_default());
    escaped.into_iter().flatten().chain(plain.then_some(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_stay_as_they_are() {
        assert_eq!(word("203.0.113.7"), "`203.0.113.7`");
        assert_eq!(word("größer"), "`größer`");
    }

    #[test]
    fn nothing_reaches_the_terminal_that_it_would_obey() {
        assert_eq!(word("a\x1b[31mb\0\n"), "`a\\u{1b}[31mb\\u{0}\\n`");
        assert_eq!(word("\u{202e}evil"), "`\\u{202e}evil`");
        assert_eq!(bytes(b"\xff\xfe{"), "`\u{fffd}\u{fffd}{`");
    }

    #[test]
    fn long_words_are_cut() {
        let long = "x".repeat(1_000_000);
        assert_eq!(word(&long).chars().count(), MOST_CHARS + 3);
        assert_eq!(bytes(long.as_bytes()).chars().count(), MOST_CHARS + 3);
    }
}
