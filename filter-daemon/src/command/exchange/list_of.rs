//! What a set with ends and comments has in common with a list: how an entry of one becomes an entry of the other.

use filter_common::target::Span;

use super::{Fault, Item, set_name};
use crate::clock;
use crate::control::wire::import::Own;
use crate::control::wire::words;
use std::time::Duration;

/// Since when what is left is counted.
#[derive(Clone, Copy)]
pub struct Begun(u64);

impl Begun {
    /// This moment.
    pub fn now() -> Self {
        Self(clock::on_the_wall(clock::after(Duration::ZERO)))
    }

    /// An element of the set `set`, with so many seconds left, or none if it is permanent.
    pub fn item(
        self,
        span: Span,
        set: &str,
        left: Option<u64>,
        comment: Option<&str>,
    ) -> Result<Item, Fault> {
        let note = comment.map(words::note).transpose()?;
        let until = left.map(|left| self.0.saturating_add(left));
        let Some((list, allow)) = set_name::list(set) else { return Err("its set has no name".to_owned()) };
        Ok(Item { list: Some(list), own: Own { until, note }, allow, ..Item::bare(span) })
    }
}
