//! Carries out a request that adds or removes targets: at once if it is one page and there is room, otherwise
//! page by page.
//!
//! A request is done completely or not at all. If a page is refused, the pages before it are undone.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::commit::{CommitError, Protection};
use super::pages::{OwnerParts, Turn, Work};
use super::persistence::WriteOutcome;
use crate::blocklist::{Applied, Change, PAGE, Targets, Undo, Want};
use crate::clock;
use crate::text::Explain;

/// The changes that a request has made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeTotals {
    /// Targets that changed anything.
    pub changed: u64,
    /// Targets that became blocked.
    pub entered: u64,
    /// Targets that are no longer blocked.
    pub left: u64,
    /// Targets that became allowed.
    pub allowed: u64,
    /// Targets that are no longer allowed.
    pub disallowed: u64,
    /// The lists in which anything changed.
    pub lists: BTreeSet<Arc<str>>,
}

/// An import may consist of many small pages, because each entry has attributes of its own. Pages share a
/// turn up to this many targets, which takes about a millisecond.
const TOGETHER: usize = 128;

/// Called at the end, with the combined outcome of all journal writes.
pub type ChangeAnswer =
    Box<dyn FnOnce(Result<ChangeTotals, CommitError>, &mut OwnerParts<'_>, WriteOutcome) + Send>;

/// A request that is being carried out.
pub struct Request {
    /// All targets that the request adds, until there was room for them.
    entering: Option<Targets>,
    pages: VecDeque<Change>,
    undo: Vec<Undo>,
    done: ChangeTotals,
    failed: Option<CommitError>,
    outcome: WriteOutcome,
    answer: Option<ChangeAnswer>,
}

impl ChangeTotals {
    /// Adds the result of one more page.
    pub fn add(&mut self, applied: &Applied) {
        self.changed += applied.changed;
        self.lists.extend(applied.lists.iter().cloned());
        for (_, set) in applied.effects.sets.blocking() {
            self.entered += set.entered.len() as u64;
            self.left += set.left.len() as u64;
        }
        self.allowed += applied.effects.sets.allow.entered.len() as u64;
        self.disallowed += applied.effects.sets.allow.left.len() as u64;
    }
}

/// Makes one change for each page of targets.
pub fn pages(targets: &Targets, page: impl Fn(Targets) -> Change) -> Vec<Change> {
    targets.pages(PAGE).map(page).collect()
}

impl Request {
    /// Makes a request of these changes, which together concern all these targets.
    pub fn new(targets: &Targets, pages: Vec<Change>, answer: ChangeAnswer) -> Self {
        let pages = VecDeque::from(pages);
        // For a single page, `has_room` takes the targets from the page.
        let enters = pages.len() > 1 && matches!(pages.front(), Some(Change::Want(_)));
        Self {
            entering: enters.then(|| targets.clone()),
            pages,
            undo: Vec::new(),
            done: ChangeTotals::default(),
            failed: None,
            outcome: WriteOutcome::default(),
            answer: Some(answer),
        }
    }

    /// Carries the request out now if it is one page and there is room. Otherwise returns it, to be done in
    /// its turn.
    pub fn at_once(mut self, parts: &mut OwnerParts<'_>) -> Option<Self> {
        let is_done = self.pages.len() <= 1 && self.turn(parts) == Turn::Done;
        (!is_done).then_some(self)
    }

    fn make_room(&mut self, page: &Change, parts: &mut OwnerParts<'_>) -> bool {
        let Change::Want(Want { list, polarity, targets, .. }) = page else { return true };
        let (blocklist, all) = (parts.protection.blocklist(), self.entering.as_ref().unwrap_or(targets));
        let (sets, all) = (blocklist.sets_of(list, *polarity), blocklist.in_effect(list, all));
        let has_room = parts.capacity.has_room(parts.protection, sets, &all);
        if has_room {
            self.entering = None;
        }
        has_room
    }

    /// Carries out the next page, and small pages after it. Returns false if there is no room for the first.
    fn do_pages(&mut self, parts: &mut OwnerParts<'_>) -> bool {
        let mut targets = 0;
        while let Some(page) = self.pages.pop_front() {
            targets += size(&page);
            let is_first = targets == size(&page);
            if (!is_first && targets > TOGETHER) || !self.make_room(&page, parts) {
                self.pages.push_front(page);
                return !is_first;
            }
            self.do_page(&page, parts);
            if self.failed.is_some() {
                break;
            }
        }
        true
    }

    fn do_page(&mut self, page: &Change, parts: &mut OwnerParts<'_>) {
        match parts.protection.commit(page, clock::now()) {
            Ok(applied) => {
                self.done.add(&applied);
                self.undo.push(applied.undo);
            }
            Err(error) => self.failed = Some(error),
        }
    }

    /// Undoes one page. An undo restores the state of a moment ago, and so needs no new room. If it is
    /// refused nevertheless, blocklist and kernel still agree.
    fn undo_page(&mut self, undo: Undo, protection: &mut Protection) {
        if let Err(error) = protection.commit(&Change::Undo(undo), clock::now()) {
            tracing::error!("cannot undo a part of the refused change: {}", error.explain());
        }
    }

    fn is_over(&self) -> bool {
        if self.failed.is_some() { self.undo.is_empty() } else { self.pages.is_empty() }
    }

    fn end(&mut self, parts: &mut OwnerParts<'_>) -> Turn {
        let result = self.failed.take().map_or_else(|| Ok(std::mem::take(&mut self.done)), Err);
        if let Some(answer) = self.answer.take() {
            answer(result, parts, self.outcome.clone());
        }
        Turn::Done
    }

    fn tell_journal(&mut self, parts: &mut OwnerParts<'_>) {
        let records = parts.protection.take_records();
        parts.persistence.write_part(records, &mut self.outcome);
    }
}

fn size(page: &Change) -> usize {
    let (Change::Want(Want { targets, .. }) | Change::Release { targets, .. }) = page else { return 0 };
    targets.len()
}

impl Work for Request {
    fn turn(&mut self, parts: &mut OwnerParts<'_>) -> Turn {
        if self.failed.is_some() {
            let Some(undo) = self.undo.pop() else { return self.end(parts) };
            self.undo_page(undo, parts.protection);
        } else {
            if self.pages.is_empty() {
                return self.end(parts);
            }
            if !self.do_pages(parts) {
                return Turn::Wait;
            }
        }
        if self.is_over() {
            return self.end(parts);
        }
        self.tell_journal(parts);
        Turn::More
    }
}
