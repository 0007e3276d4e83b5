//! The formats of `filterd export` and `filterd import`: entries with their list, end and note.
//!
//! Each format has a file with its writer ([`EntryWriter`]) and its reader for lines ([`EntryReader`]). `json` and
//! `plain` are filterd's own formats and express everything; for the other formats, `lost` counts the
//! details that are missing.

mod ending;
mod foreign;
pub mod format;
pub mod ipset;
pub mod json;
mod list_of;
pub mod lost;
pub mod nft;
#[cfg(test)]
mod odd;
pub mod plain;
pub mod reading;
pub mod row;
pub mod sending;
mod set_name;
pub mod sets;
pub mod sifting;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::sync::Arc;

use filter_common::target::{Span, Target};

use crate::config::ListName;
use crate::control::wire::Entry;
use crate::control::wire::lists::ListDetails;
use crate::control::wire::own::Own;
use crate::text::lines::Line;
use lost::LostDetails;

/// An entry that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedEntry {
    /// Its target, or a range of targets.
    pub span: Span,
    /// Its list, if the input names one.
    pub list: Option<ListName>,
    /// The end and the note of the entry.
    pub own: Own,
    /// Whether it allows instead of blocks.
    pub allow: bool,
    /// Whether it blocks on some ports only.
    pub on_ports: bool,
    /// Whether it blocks packets to its target.
    pub is_outbound: bool,
    /// Whether filterd wrote it, and therefore had it in force.
    pub is_ours: bool,
    /// Targets to subtract from it: the exceptions of its set.
    pub exceptions: Arc<[Target]>,
}

impl ImportedEntry {
    /// An entry of which only the target is known.
    pub fn bare(span: Span) -> Self {
        Self {
            span,
            list: None,
            own: Own::default(),
            allow: false,
            on_ports: false,
            is_outbound: false,
            is_ours: false,
            exceptions: Arc::default(),
        }
    }
}

/// The error of a line, to be shown after its number.
pub type Fault = String;

/// Reads the lines of a format.
pub trait EntryReader {
    /// The entry of a line; None if the line is empty or a comment.
    fn read(&mut self, line: &Line<'_>) -> Option<Result<ImportedEntry, Fault>>;

    /// The error of the input as a whole, known after its last line.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// Writes entries in a format. They come in ascending order of target, and those that block before those
/// that allow.
pub trait EntryWriter {
    /// Begins an export. `lists` are the lists that entries may belong to.
    fn begin(&mut self, lists: &[ListDetails], out: &mut dyn Write) -> io::Result<()>;

    /// Writes one entry to the output.
    fn entry(&mut self, entry: &Entry, allow: bool, out: &mut dyn Write) -> io::Result<()>;

    /// Ends an export after the last entry.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;

    /// Everything that the format could not express.
    fn lost(&self) -> &LostDetails;
}
