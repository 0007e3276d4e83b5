//! What `filterd export` writes and `filterd import` reads: entries with their list, end and note, in several formats.
//!
//! A format is a file, both ways: what writes it ([`Writer`]) and what reads it line by line ([`Form`]). `json` and `plain`
//! are filterd's own and carry everything; what another one cannot carry is counted by `lost`.

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
use crate::control::wire::lists::List;
use crate::control::wire::own::Own;
use crate::text::lines::Line;
use lost::Lost;

/// An entry that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its target, or a range of them.
    pub span: Span,
    /// The list that it is to be on, if that is said.
    pub list: Option<ListName>,
    /// Its end and its note.
    pub own: Own,
    /// Does it allow?
    pub allow: bool,
    /// Does it block on some ports only?
    pub on_ports: bool,
    /// Has filterd written it, who had it in force as it stands here?
    pub is_ours: bool,
    /// Targets to subtract from it: the exceptions of its set.
    pub exceptions: Arc<[Target]>,
}

impl Item {
    /// One of which nothing but its target is known.
    pub fn bare(span: Span) -> Self {
        Self {
            span,
            list: None,
            own: Own::default(),
            allow: false,
            on_ports: false,
            is_ours: false,
            exceptions: Arc::default(),
        }
    }
}

/// What is wrong with a line, to be told behind its number.
pub type Fault = String;

/// How the lines of a format are read.
pub trait Form {
    /// The entry of a line; none if it says nothing.
    fn read(&mut self, line: &Line<'_>) -> Option<Result<Item, Fault>>;

    /// What is wrong with all of it, once the last line has been read.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// How entries are written in a format. They come in ascending order of target, what blocks before what allows.
pub trait Writer {
    /// Before the first one. `lists` are those that they may be of.
    fn begin(&mut self, lists: &[List], out: &mut dyn Write) -> io::Result<()>;

    /// One of them.
    fn entry(&mut self, entry: &Entry, allow: bool, out: &mut dyn Write) -> io::Result<()>;

    /// Behind the last one.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;

    /// What could not be carried.
    fn lost(&self) -> &Lost;
}
