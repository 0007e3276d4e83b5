//! The rules for one sentence: its length, its first word, and the words in it.

/// Where a sentence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In the docs or the help. Lines are wrapped.
    Docs,
    /// In a string literal, which may be a part of a message. A line ends where it is broken.
    Message,
}

/// The most words of a sentence.
const MOST_WORDS: usize = 30;

/// No sentence begins with these, unless it is a question.
const OPENINGS: [&str; 10] = ["Whoever", "Who", "What", "Of", "Where", "That", "Which", "Whose", "Nor", "So"];

/// Parts of messages may begin with the other openings, as in `of the list`.
const OPENINGS_OF_MESSAGES: [&str; 4] = ["whoever", "who", "whose", "nor"];

/// Words and phrases for which there are plainer ones.
#[rustfmt::skip]
const BANNED: [&str; 52] = [
    // report, show, print
    "tell", "tells", "told", "telling",
    // fix
    "mend", "mends", "mended", "mending",
    // continue
    "go on", "goes on", "going on", "went on", "gone on",
    // restart, reset
    "anew",
    // keep the previous version
    "held back", "hold back", "holds back", "holding back",
    // missing
    "is not there", "are not there", "was not there", "were not there",
    // released, detached
    "let go", "lets go", "letting go", "taken off", "take off", "takes off", "took off",
    // take effect
    "into force",
    // accepted
    "believe", "believes", "believed", "believing",
    // restored
    "put back", "puts back", "putting back",
    // because of
    "for the sake of", "for its sake", "for their sake",
    // in random order
    "as it falls", "as they fall",
    // tests, modules, architecture
    "story", "stories", "rooms", "house",
    // the actor: you, filterd, the kernel, the sender
    "whoever", "whatever", "whence", "nobody", "somebody",
    // by default
    "unless it is said",
];

/// Splits a text into paragraphs.
pub fn paragraphs(text: &str, kind: Kind) -> Vec<String> {
    let separator = match kind {
        Kind::Docs => "\n\n",
        Kind::Message => "\n",
    };
    let paragraphs = text.split(separator).map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.filter(|paragraph| !paragraph.is_empty()).collect()
}

/// The sentences of a paragraph.
pub fn sentences(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut words = paragraph.split_whitespace().peekable();
    while let (Some(word), Some(sentence)) = (words.next(), sentences.last_mut()) {
        let between = if sentence.is_empty() { "" } else { " " };
        *sentence = format!("{sentence}{between}{word}");
        if ends(word) && words.peek().is_some_and(|next| begins(next)) {
            sentences.push(String::new());
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

fn ends(word: &str) -> bool {
    word.trim_end_matches([')', '"', '*', '_']).ends_with(['.', '!', '?'])
}

fn begins(word: &str) -> bool {
    let first = word.chars().next().unwrap_or(' ');
    first.is_uppercase() || "`*[(\"{".contains(first)
}

/// The number of words in a sentence.
pub fn length(sentence: &str) -> usize {
    sentence.split_whitespace().count()
}

/// Each rule that a sentence breaks, and what to show of it.
pub fn broken(sentence: &str, kind: Kind) -> Vec<(&'static str, String)> {
    let length = length(sentence);
    let long = (length > MOST_WORDS).then(|| ("long", format!("{length} words: {}", shown(sentence))));
    let opening = begins_badly(sentence, kind).then(|| ("openings", shown(sentence)));
    let words =
        banned(sentence).into_iter().map(|phrase| ("words", format!("{phrase}: {}", shown(sentence))));
    long.into_iter().chain(opening).chain(words).collect()
}

fn begins_badly(sentence: &str, kind: Kind) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphabetic();
    let sentence = sentence.trim_start_matches(['*', '_', '(', '"']);
    let first = sentence.split(|letter| !is_letter(letter)).next().unwrap_or_default();
    let is_banned = match kind {
        Kind::Docs => OPENINGS.contains(&first),
        Kind::Message => OPENINGS.contains(&first) || OPENINGS_OF_MESSAGES.contains(&first),
    };
    is_banned && length(sentence) >= 3 && !sentence.trim_end_matches([')', '*', '_']).ends_with('?')
}

/// The banned phrases in a sentence, outside code spans.
fn banned(sentence: &str) -> Vec<&'static str> {
    let prose: String = sentence.split('`').step_by(2).collect::<Vec<_>>().join(" \u{0} ");
    let trim = |word: &str| {
        word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '\0').to_lowercase()
    };
    let words: Vec<_> = prose.split_whitespace().map(trim).collect();
    let count = |phrase: &&str| {
        let phrase: Vec<_> = phrase.split(' ').collect();
        words.windows(phrase.len()).filter(|window| *window == phrase).count()
    };
    BANNED.into_iter().flat_map(|phrase| std::iter::repeat_n(phrase, count(&phrase))).collect()
}

/// The beginning of a sentence.
fn shown(sentence: &str) -> String {
    let mut shown: String = sentence.chars().take(100).collect();
    if shown.len() < sentence.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_become_sentences() {
        for (text, expected) in [
            ("One two. Three four.", &["One two.", "Three four."][..]),
            ("One (two). `three` four", &["One (two).", "`three` four"]),
            ("One, e.g. two, v0.1.0 and three", &["One, e.g. two, v0.1.0 and three"]),
            ("One? *Two* three! [Four](five)", &["One?", "*Two* three!", "[Four](five)"]),
            ("", &[]),
        ] {
            assert_eq!(sentences(text), expected, "{text}");
        }
    }

    #[test]
    fn messages_end_with_their_line() {
        let text = "one\ntwo\n\nthree";
        assert_eq!(paragraphs(text, Kind::Docs), ["one two", "three"]);
        assert_eq!(paragraphs(text, Kind::Message), ["one", "two", "three"]);
    }

    #[test]
    fn each_rule_is_applied() {
        let words = |number| "word ".repeat(number);
        for (sentence, kind, rules) in [
            (words(30).as_str(), Kind::Docs, &[][..]),
            (&words(31), Kind::Docs, &["long"]),
            (&words(31), Kind::Message, &["long"]),
            ("Whoever asks is answered.", Kind::Docs, &["openings", "words"]),
            ("Of these, one is dropped.", Kind::Docs, &["openings"]),
            ("**So it is.**", Kind::Docs, &["openings"]),
            ("Often it is dropped.", Kind::Docs, &[]),
            ("What is dropped?", Kind::Docs, &[]),
            ("What now", Kind::Docs, &[]),
            ("of the list drop, 3", Kind::Message, &[]),
            ("who asks must be root", Kind::Message, &["openings"]),
            ("who asks must be root", Kind::Docs, &[]),
            ("The list is held back, and told so.", Kind::Docs, &["words", "words"]),
            ("The code `is told` and `what` it is.", Kind::Docs, &[]),
            ("The held `x` back.", Kind::Docs, &[]),
            ("A Story begins.", Kind::Docs, &["words"]),
        ] {
            let found: Vec<_> = broken(sentence, kind).into_iter().map(|(rule, _)| rule).collect();
            assert_eq!(found, rules, "{sentence}");
        }
    }
}
