//! A line of a list, wherever it comes from: a target, or what is wrong with it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use filter_common::target::Span;

use super::rejected::{Reason, Rejected};
use crate::text::lines::{Content, Line};
use crate::text::printable;

/// A line that was not understood.
pub struct Unread<'a> {
    /// What it says, comment and blanks aside.
    pub content: &'a [u8],
    line: u64,
    reason: Reason,
}

/// Reads a line; none if it says nothing.
pub fn read<'a>(line: &Line<'a>) -> Option<Result<Span, Unread<'a>>> {
    let unread = |content, reason| Unread { content, line: line.number, reason };
    match line.content() {
        Content::Nothing => None,
        Content::TooLong(content) => Some(Err(unread(content, Reason::TooLong))),
        Content::Says(content) => {
            Some(target(&String::from_utf8_lossy(content)).map_err(|reason| unread(content, reason)))
        }
    }
}

fn target(content: &str) -> Result<Span, Reason> {
    content.parse().map_err(|error| {
        let word = content.split([' ', '\t', ',']).next().unwrap_or(content);
        let more = word != content && word.parse::<Span>().is_ok();
        if more { Reason::More } else { Reason::NoTarget(error) }
    })
}

impl<'a> Unread<'a> {
    /// A line that was understood, and is not taken: it names a good part of all addresses there are.
    pub fn wide(line: &Line<'a>) -> Self {
        let content = match line.content() {
            Content::Says(content) | Content::TooLong(content) => content,
            Content::Nothing => b"",
        };
        Self { content, line: line.number, reason: Reason::Wide }
    }

    /// The same, to be kept, with the file that it is in.
    pub fn of(&self, path: &Arc<Path>) -> Rejected {
        let text: Cow<'_, str> = String::from_utf8_lossy(self.content);
        Rejected { path: path.clone(), line: self.line, text: printable::excerpt(&text), reason: self.reason }
    }
}
