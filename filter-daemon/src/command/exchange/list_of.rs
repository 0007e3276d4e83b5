//! Converts an element of a set with ends and comments to an entry of a list.

use filter_common::target::Span;

use super::{Fault, ImportedEntry, set_name};
use crate::clock;
use crate::control::wire::own::Own;
use crate::control::wire::words;
use std::time::Duration;

/// The time from which remaining times are counted.
#[derive(Clone, Copy)]
pub struct CountdownStart(u64);

impl CountdownStart {
    /// Counts remaining times from now.
    pub fn now() -> Self {
        Self(clock::on_the_wall(clock::after(Duration::ZERO)))
    }

    /// The entry for an element of `set`. `left` is its remaining time in seconds, or None if it is
    /// permanent.
    pub fn item(
        self,
        span: Span,
        set: &str,
        left: Option<u64>,
        comment: Option<&str>,
    ) -> Result<ImportedEntry, Fault> {
        let note = comment.map(words::note).transpose()?;
        let until = left.map(|left| self.0.saturating_add(left));
        let Some((list, allow)) = set_name::list(set) else { return Err("its set has no name".to_owned()) };
        Ok(ImportedEntry { list: Some(list), own: Own { until, note }, allow, ..ImportedEntry::bare(span) })
    }
}
