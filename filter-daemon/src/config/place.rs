//! Finds the position of a fault in the text, so that it can be shown.

use super::diagnostic::{Problem, line_number};
use super::raw;
use super::shape::{Help, ValueFault};

/// The most faults whose position is searched. Each search reads the document again, and no operator reads
/// more.
const MOST_FOUND: usize = 100;

/// All problems in the order of the text, and the number of further ones.
pub fn problems(text: &str, told: Vec<Problem>, faults: Vec<ValueFault>) -> (Vec<Problem>, usize) {
    let more = faults.len().saturating_sub(MOST_FOUND);
    // A word that was masked to continue parsing is not a valid target either, but it was reported already.
    let covered: Vec<usize> = told.iter().map(|problem| problem.at).collect();
    let found = faults.into_iter().take(MOST_FOUND).map(|fault| problem(text, fault));
    let mut problems = told;
    problems.extend(found.filter(|problem| !covered.contains(&problem.at)));
    problems.sort_by_key(|problem| problem.at);
    (problems, more)
}

fn problem(text: &str, fault: ValueFault) -> Problem {
    let at = start(text, fault.node);
    let help = match fault.help {
        Help::Text(help) => help,
        Help::Earlier(node) => format!("the first is on line {}", line_number(text, start(text, node))),
    };
    let width = width(&text[at..]);
    Problem { is_secret: fault.is_secret, ..Problem::new(at, width, fault.message, help) }
}

fn start(text: &str, node: usize) -> usize {
    let start = raw::start(text, node).filter(|start| text.is_char_boundary(*start)).unwrap_or(0);
    // An error about a document without a value is shown at its beginning, not after its last comment.
    if node == 0 && ["", "..."].contains(&text[start..].trim()) { 0 } else { start }
}

/// The number of bytes, up to the end of the line, of the value that the text begins with.
fn width(text: &str) -> usize {
    let line = text.split(['\n', '\r']).next().unwrap_or("");
    let end = match line.as_bytes() {
        [] | [b'[' | b'{', ..] | [b'-', b' ', ..] => return 1,
        [quote @ (b'"' | b'\''), inside @ ..] => {
            inside.iter().position(|byte| byte == quote).map(|end| end + 2)
        }
        _ => plain_end(line),
    };
    line[..end.unwrap_or(line.len())].trim_end().len().max(1)
}

/// A plain value ends at a comment, a key at its colon, and both at a bracket or comma of a `[list]`.
fn plain_end(line: &str) -> Option<usize> {
    let ends = [line.find(" #"), line.find(": "), line.find(['[', ']', '{', '}', ','])];
    let end = ends.into_iter().flatten().min();
    // An address that YAML treats as a key has one more colon.
    end.or_else(|| line.trim_end().strip_suffix(':').filter(|key| !key.ends_with(':')).map(str::len))
}
