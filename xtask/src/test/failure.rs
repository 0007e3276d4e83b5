//! A test that failed, and what it said: told once more below the table, since of a long output often only the end is kept.

use std::fmt;
use std::path::Path;

/// A panic's message and a few lines around it; all of it stands further up.
const TOLD_AGAIN: usize = 12;

/// How many of the last lines are repeated of a test that was killed.
const LAST_LINES: usize = 20;

/// One that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    name: String,
    said: Vec<String>,
    has_panicked: bool,
    /// What follows is where it came from, frame by frame.
    is_over: bool,
}

impl Failure {
    /// A test that failed for this reason, and said nothing.
    pub fn new(name: &str, reason: &str) -> Self {
        Self { name: name.to_owned(), said: vec![reason.to_owned()], has_panicked: false, is_over: false }
    }

    /// A test that ended like this after it had said this, all of which is kept in the file `log`.
    pub fn with_log(name: &str, end: &str, said: &str, log: &Path) -> Self {
        let mut failure = Self::new(name, "");
        failure.said.clear();
        said.lines().for_each(|line| failure.hear(line));
        if !failure.has_panicked {
            let lines: Vec<_> = said.lines().collect();
            let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
            failure.said = last.iter().map(ToString::to_string).collect();
        }
        failure.said.insert(0, format!("{end}; its log: {}", log.display()));
        failure
    }

    /// The one of whom libtest says so in this line.
    pub fn told(line: &str) -> Option<Self> {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        Some(Self { name: name.to_owned(), said: Vec::new(), has_panicked: false, is_over: false })
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.name == name
    }

    /// Takes in a line that it said. What it printed before it panicked is left out, and where each frame lies.
    pub fn hear(&mut self, line: &str) {
        if line.starts_with("thread '") && line.contains(" panicked at ") {
            if !self.has_panicked {
                self.said.clear();
            }
            (self.has_panicked, self.is_over) = (true, false);
        }
        self.is_over |= line == "stack backtrace:" || line.starts_with("note: run with");
        if !self.is_over && !line.trim().is_empty() && self.said.len() < TOLD_AGAIN {
            self.said.push(line.to_owned());
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    FAILED {}", self.name)?;
        self.said.iter().try_for_each(|line| writeln!(f, "      {line}"))
    }
}
