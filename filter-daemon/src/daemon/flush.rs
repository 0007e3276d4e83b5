//! Empties live lists page by page. Each page is complete: targets released before a failure stay released,
//! and the answer reports their number.

use std::sync::Arc;

use filter_common::target::Target;

use super::change::ChangeTotals;
use super::commit::CommitError;
use super::pages::{OwnerParts, Turn, Work};
use super::persistence::WriteOutcome;
use crate::blocklist::{Applied, Change, ListId, ReleaseFrom};
use crate::clock;

/// Called at the end, with the result and the error that stopped it, if any.
pub type FlushAnswer =
    Box<dyn FnOnce(Flushed, Option<CommitError>, &mut OwnerParts<'_>, WriteOutcome) + Send>;

/// The result of a flush.
#[derive(Clone, Debug, Default)]
pub struct Flushed {
    /// The changes of all lists together.
    pub done: ChangeTotals,
    /// The number of entries released from each list.
    pub lists: Vec<(Arc<str>, u64)>,
}

/// The lists that remain to be emptied.
pub struct RunningFlush {
    lists: Vec<ListId>,
    after: Option<Target>,
    flushed: Flushed,
    outcome: WriteOutcome,
    answer: Option<FlushAnswer>,
}

impl RunningFlush {
    /// Makes a flush of these lists.
    pub fn new(lists: Vec<ListId>, answer: FlushAnswer) -> Self {
        Self {
            lists,
            after: None,
            flushed: Flushed::default(),
            outcome: WriteOutcome::default(),
            answer: Some(answer),
        }
    }

    fn end(&mut self, failed: Option<CommitError>, parts: &mut OwnerParts<'_>) -> Turn {
        if let Some(answer) = self.answer.take() {
            answer(std::mem::take(&mut self.flushed), failed, parts, self.outcome.clone());
        }
        Turn::Done
    }
}

impl Flushed {
    fn add(&mut self, list: Arc<str>, applied: &Applied) {
        self.done.add(applied);
        match self.lists.last_mut() {
            Some((last, entries)) if *last == list => *entries += applied.changed,
            _ => self.lists.push((list, applied.changed)),
        }
    }
}

impl Work for RunningFlush {
    fn turn(&mut self, parts: &mut OwnerParts<'_>) -> Turn {
        let Some(&list) = self.lists.last() else { return self.end(None, parts) };
        let blocklist = parts.protection.blocklist();
        // Others may have emptied and forgotten the list meanwhile.
        if !blocklist.lists().has(list) || blocklist.lists().get(list).entries == 0 {
            self.lists.pop();
            self.after = None;
            return Turn::More;
        }
        let name = blocklist.lists().get(list).name.clone();
        let (targets, next) = blocklist.to_release(list, self.after, |_| true);
        let page = Change::Release { from: ReleaseFrom::List(name.clone()), targets };
        match parts.protection.commit(&page, clock::now()) {
            Ok(applied) => self.flushed.add(name, &applied),
            Err(error) => return self.end(Some(error), parts),
        }
        let records = parts.protection.take_records();
        parts.persistence.write_part(records, &mut self.outcome);
        self.after = next;
        if next.is_none() {
            self.lists.pop();
        }
        Turn::More
    }
}
