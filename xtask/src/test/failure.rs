//! A test that failed, and what it said: told once more below the table, since of a long output often only the end is kept.

use std::fmt;

/// A panic's message and a few lines around it; all of it stands further up.
const TOLD_AGAIN: usize = 12;

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
