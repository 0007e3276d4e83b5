//! The errors of a configuration, each with its position, the line, a caret and a suggestion.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::source::file::FileError;
use crate::text::{Explain, Explanation, printable};

/// The reason why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is too large for a configuration.
    #[error("{}: a configuration has at most 256 KiB", printable::path(path))]
    TooLarge {
        /// The path of the file.
        path: PathBuf,
    },
    /// The configuration has errors.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Explain for ConfigError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::File(error) => error.remedy(),
            Self::TooLarge { .. } => Some("put long lists into list files".to_owned()),
            // Each error shows its own remedy.
            Self::Invalid(_) => None,
        }
    }
}

impl ConfigError {
    /// The first error on one line, with the number of further errors.
    #[must_use]
    pub fn brief(&self) -> Explanation {
        let Self::Invalid(invalid) = self else { return self.explain() };
        let Some(first) = invalid.problems.first() else { return self.explain() };
        let message = match invalid.count() - 1 {
            0 => invalid.headline(first),
            1 => format!("{} (and 1 more error)", invalid.headline(first)),
            more => format!("{} (and {more} more errors)", invalid.headline(first)),
        };
        Explanation::new(message, printable::line(&first.help))
    }
}

/// All errors in a configuration.
#[derive(Debug)]
pub struct Invalid {
    path: PathBuf,
    text: String,
    problems: Vec<Problem>,
    more: usize,
}

/// One error and its position in the text.
#[derive(Debug)]
pub struct Problem {
    /// The offset of its first byte.
    pub at: usize,
    /// The number of bytes that it covers.
    pub width: usize,
    pub message: String,
    pub help: String,
    /// Whether the text there is a secret.
    pub is_secret: bool,
}

impl Problem {
    pub fn new(at: usize, width: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { at, width, message: message.into(), help: help.into(), is_secret: false }
    }
}

impl Invalid {
    pub(super) fn new(path: &Path, text: String, problems: Vec<Problem>, more: usize) -> Self {
        let text = without_secrets(text, &problems);
        Self { path: path.into(), text, problems, more }
    }

    /// The number of errors, including those not listed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.problems.len() + self.more
    }
}

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            self.write(problem, f)?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more errors"),
        }
    }
}

impl Invalid {
    /// The position and the message of an error.
    fn headline(&self, problem: &Problem) -> String {
        let (path, message) = (printable::path(&self.path), printable::line(&problem.message));
        let (number, column) = (line_number(&self.text, problem.at), self.column(problem));
        format!("{path}:{number}:{}: {message}", column + 1)
    }

    fn line_start(&self, problem: &Problem) -> usize {
        self.text[..problem.at].rfind('\n').map_or(0, |line_end| line_end + 1)
    }

    fn column(&self, problem: &Problem) -> usize {
        self.text[self.line_start(problem)..problem.at].trim_start_matches('\u{feff}').chars().count()
    }

    fn write(&self, problem: &Problem, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = line_number(&self.text, problem.at);
        let start = self.line_start(problem);
        let line = self.text[start..].lines().next().unwrap_or("");
        let column = self.column(problem);
        let width = self.text[problem.at..].char_indices().take_while(|(at, _)| *at < problem.width).count();
        let excerpt = Excerpt::new(line.trim_start_matches('\u{feff}'), column, width);

        writeln!(f, "{}", self.headline(problem))?;
        writeln!(f, "{number:>5} | {}", excerpt.line)?;
        writeln!(f, "      | {:indent$}{}", "", "^".repeat(excerpt.carets), indent = excerpt.indent)?;
        write!(f, "help: {}", printable::line(&problem.help))
    }
}

/// Replaces secrets by stars of the same length, so that no error shows them.
fn without_secrets(text: String, problems: &[Problem]) -> String {
    problems.iter().filter(|problem| problem.is_secret).fold(text, |mut text, problem| {
        let range = problem.at..problem.at + problem.width;
        if text.get(range.clone()).is_some() {
            text.replace_range(range, &"*".repeat(problem.width));
        }
        text
    })
}

/// The line number of a byte, counted from one.
pub fn line_number(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The part of a line that fits on a screen.
struct Excerpt {
    line: String,
    indent: usize,
    carets: usize,
}

/// The number of characters shown from a line, and how many of them precede the error.
const SHOWN: usize = 100;
const BEFORE: usize = 60;

impl Excerpt {
    fn new(line: &str, column: usize, width: usize) -> Self {
        let from = column.saturating_sub(BEFORE);
        let mut shown: Vec<char> = line.chars().skip(from).take(SHOWN).map(flat).collect();
        if let Some(first) = shown.first_mut().filter(|_| from > 0) {
            *first = '…';
        }
        if line.chars().nth(from + SHOWN).is_some() {
            shown.push('…');
        }
        let indent = column - from;
        let carets = width.min(shown.len().saturating_sub(indent)).max(1);
        Self { line: shown.into_iter().collect::<String>().trim_end().into(), indent, carets }
    }
}

/// Replaces characters by others of width one (a tab by a blank), so that the caret is at the right position.
fn flat(character: char) -> char {
    if character == '\t' { ' ' } else { printable::narrow(character) }
}
