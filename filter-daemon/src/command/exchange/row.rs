//! A row of an input: an entry, or an error at its line.

use super::{Fault, ImportedEntry};

/// An entry and its line number, if it has one, or the error.
pub type Row = Result<(Option<u64>, ImportedEntry), RejectedRow>;

/// A line that could not be read.
#[derive(Debug, PartialEq)]
pub struct RejectedRow {
    /// The line number, counted from one.
    pub line: Option<u64>,
    /// Why the line is not valid.
    pub fault: Fault,
}

impl RejectedRow {
    /// Formats the error with the name of the input.
    pub fn told(&self, name: &str) -> String {
        let Self { line, fault } = self;
        let place = line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{name}{place}: {fault}")
    }
}
