//! Parses bytes to raw values, or explains why they are not YAML.

use std::ops::Range;
use std::path::Path;

use super::diagnostic::{ConfigError, Invalid, Problem};
use super::nesting;
use super::raw::{self, Node};

/// A document, as far as it can be read.
pub struct ParsedDocument {
    /// Its values, if it is YAML.
    pub root: Option<Node>,
    /// The text that the values were read from. It has the length of the original, and differs only where a
    /// problem is reported.
    pub readable: String,
    pub problems: Vec<Problem>,
}

/// The most repairs. Each repair reads the document again.
const MOST_REPAIRS: usize = 100;

/// The byte order mark that editors on Windows write before UTF-8. It is not part of the text, but the parser
/// counts it as a column of the first line.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The text of the file, if it is valid UTF-8.
pub fn text(path: &Path, mut bytes: Vec<u8>) -> Result<String, ConfigError> {
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let problem = Problem::new(at, 1, "this is not UTF-8", "save the file as UTF-8");
        Invalid::new(path, shown, vec![problem], 0).into()
    })
}

/// Reads the values of a document. One mistake is so common that it must not hide all other errors: an IPv6
/// address in a `[list]` that needs quotes. It is reported and replaced by letters, and the document is read
/// again.
pub fn read(text: &str) -> ParsedDocument {
    let mut read = ParsedDocument { root: None, readable: text.into(), problems: Vec::new() };
    read.problems.extend(control_character(text).or_else(|| too_deep(text)));
    if !read.problems.is_empty() {
        return read;
    }
    loop {
        let error = match raw::read(&read.readable) {
            Ok(root) => {
                read.root = Some(root);
                return read;
            }
            Err(error) => error,
        };
        let at = error.location().map_or(0, |location| location.index());
        let word = unquoted_ipv6(&read.readable, at).filter(|_| read.problems.len() < MOST_REPAIRS);
        let Some(word) = word else {
            read.problems.push(explain(text, at, &error.to_string()));
            return read;
        };
        let address = &text[word.clone()];
        let message = format!("YAML needs quotes around {address} here, because of its colons");
        read.problems.push(Problem::new(word.start, word.len(), message, format!("write \"{address}\"")));
        read.readable.replace_range(word.clone(), &"x".repeat(word.len()));
    }
}

fn control_character(text: &str) -> Option<Problem> {
    let refused = |c: &char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    let (at, character) = text.char_indices().find(|(_, character)| refused(character))?;
    let message = format!("the control character {character:?} is not allowed in YAML");
    Some(Problem::new(at, 1, message, "remove it"))
}

fn too_deep(text: &str) -> Option<Problem> {
    let (at, message, help) = nesting::too_deep(text)?;
    Some(Problem::new(at, 1, message, help))
}

/// The word around `at`, if it has the letters and colons of an IPv6 address.
fn unquoted_ipv6(text: &str, at: usize) -> Option<Range<usize>> {
    let part = |byte: &u8| byte.is_ascii_hexdigit() || b":./".contains(byte);
    let (before, after) = text.as_bytes().split_at_checked(at)?;
    let start = at - before.iter().rev().take_while(|byte| part(byte)).count();
    let end = at + after.iter().take_while(|byte| part(byte)).count();
    let colons = text.as_bytes()[start..end].iter().filter(|byte| **byte == b':').count();
    (colons >= 2).then_some(start..end)
}

/// The parser's message without its own position, and with advice.
fn explain(text: &str, at: usize, message: &str) -> Problem {
    let (fault, context) = message.split_once(", while ").unwrap_or((message, ""));
    let fault = fault.split(" at line ").next().unwrap_or(fault);
    if fault.contains("more than one document") {
        return more_than_one(text);
    }
    if fault.contains("too many values") || fault.contains("repetition limit") {
        let message = "aliases (*) repeat a part of the document too often";
        return Problem::new(at, 1, message, "write the values out");
    }
    // An error at the end is shown at the last character, not on a separate line.
    let last = text.trim_end().char_indices().next_back().map_or(0, |(last, _)| last);
    let at = if text.is_char_boundary(at) { at.min(last) } else { last };
    let help = advice(fault, context, text[at..].chars().next().unwrap_or(' '));
    Problem::new(at, 1, format!("this is not YAML: {fault}"), help)
}

fn more_than_one(text: &str) -> Problem {
    if let Some(line_end) = text.rfind("\n---") {
        return Problem::new(line_end + 1, 3, "a second YAML document begins here", "remove this line");
    }
    let first = raw::start(text, 0).unwrap_or(0);
    let message = "this is not YAML: more follows the value that begins here";
    Problem::new(first, 1, message, "write one map of keys")
}

fn advice(fault: &str, context: &str, character: char) -> String {
    let place =
        context.split_once(" at ").map_or(String::new(), |(_, place)| format!(" that begins at {place}"));
    let advice = match fault {
        _ if character == '\t' => "indent with spaces: YAML allows no tabs there",
        _ if fault.contains("cannot start any token") => {
            return format!("put words that begin with {character} in quotes");
        }
        _ if fault.contains("expected ',' or ']'") => return format!("close the list{place} with ]"),
        _ if fault.contains("expected ',' or '}'") => return format!("close the map{place} with }}"),
        _ if context.contains("quoted scalar") => return format!("close the quotes{place}"),
        _ if context.contains("alias") || context.contains("anchor") || fault.contains("unknown anchor") => {
            "put words that begin with * or & in quotes"
        }
        _ if fault.contains("mapping values are not allowed") => {
            "put a value that contains `: ` in quotes; otherwise check the indentation of the lines above"
        }
        _ if fault.contains("expected key") || fault.contains("'-' indicator") => {
            "check the indentation of this line"
        }
        _ if fault.contains("could not find expected ':'") => "write a colon and a space after a key",
        _ => "check whether the lines above are complete",
    };
    advice.into()
}
