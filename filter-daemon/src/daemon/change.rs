//! A request that adds or removes, carried out: at once where it is one page and there is room, else page by page.
//!
//! A request is done whole or not at all: if a page is refused, those before it are undone.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::commit::{NotDone, Protection};
use super::pages::{Parts, Turn, Work};
use super::persistence::Outcome;
use crate::blocklist::{Applied, Change, PAGE, Targets, Undo, Want};
use crate::clock;
use crate::text::Explain;

/// What a request has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Targets that changed anything.
    pub changed: u64,
    /// Targets that came to be blocked.
    pub entered: u64,
    /// Targets that are blocked no longer.
    pub left: u64,
    /// Targets that came to be allowed.
    pub allowed: u64,
    /// Targets that are allowed no longer.
    pub disallowed: u64,
    /// The lists in which anything changed.
    pub lists: BTreeSet<Arc<str>>,
}

/// Small pages, as those of an import of which each entry says something else, share a turn up to so many targets: a
/// millisecond.
const TOGETHER: usize = 128;

/// Told at the end, with the outcome of all that the journal was told.
pub type Answered = Box<dyn FnOnce(Result<Done, NotDone>, &mut Parts<'_>, Outcome) + Send>;

/// A request on its way.
pub struct Request {
    /// Everything that enters, until there is room for it.
    entering: Option<Targets>,
    pages: VecDeque<Change>,
    undo: Vec<Undo>,
    done: Done,
    failed: Option<NotDone>,
    outcome: Outcome,
    answer: Option<Answered>,
}

impl Done {
    /// One page more.
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

/// The changes that `page` makes of each page of targets.
pub fn pages(targets: &Targets, page: impl Fn(Targets) -> Change) -> Vec<Change> {
    targets.pages(PAGE).map(page).collect()
}

impl Request {
    /// These changes, which are about all these targets.
    pub fn new(targets: &Targets, pages: Vec<Change>, answer: Answered) -> Self {
        let pages = VecDeque::from(pages);
        // Of a single page it is the page that says it.
        let enters = pages.len() > 1 && matches!(pages.front(), Some(Change::Want(_)));
        Self {
            entering: enters.then(|| targets.clone()),
            pages,
            undo: Vec::new(),
            done: Done::default(),
            failed: None,
            outcome: Outcome::default(),
            answer: Some(answer),
        }
    }

    /// Does it now, if it is one page for which there is room; else it is given back, to be done in its turn.
    pub fn at_once(mut self, parts: &mut Parts<'_>) -> Option<Self> {
        let is_done = self.pages.len() <= 1 && self.turn(parts) == Turn::Done;
        (!is_done).then_some(self)
    }

    fn has_room(&mut self, page: &Change, parts: &mut Parts<'_>) -> bool {
        let Change::Want(Want { list, polarity, targets, .. }) = page else { return true };
        let (blocklist, all) = (parts.protection.blocklist(), self.entering.as_ref().unwrap_or(targets));
        let (set, all) = (blocklist.set_of(list, *polarity), blocklist.in_effect(list, all));
        let has_room = parts.capacity.has_room(parts.protection, set, &all);
        if has_room {
            self.entering = None;
        }
        has_room
    }

    /// The next page, and those behind it that are small; false if there is no room for the first.
    fn do_pages(&mut self, parts: &mut Parts<'_>) -> bool {
        let mut targets = 0;
        while let Some(page) = self.pages.pop_front() {
            targets += size(&page);
            let is_first = targets == size(&page);
            if (!is_first && targets > TOGETHER) || !self.has_room(&page, parts) {
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

    fn do_page(&mut self, page: &Change, parts: &mut Parts<'_>) {
        match parts.protection.commit(page, clock::now()) {
            Ok(applied) => {
                self.done.add(&applied);
                self.undo.push(applied.undo);
            }
            Err(error) => self.failed = Some(error),
        }
    }

    /// What is undone was not there a moment ago, so that this needs no room; if it should be refused all the same, truth
    /// and kernel still agree.
    fn undo_page(&mut self, undo: Undo, protection: &mut Protection) {
        if let Err(error) = protection.commit(&Change::Undo(undo), clock::now()) {
            tracing::error!("cannot undo a part of the refused change: {}", error.explain());
        }
    }

    fn is_over(&self) -> bool {
        if self.failed.is_some() { self.undo.is_empty() } else { self.pages.is_empty() }
    }

    fn end(&mut self, parts: &mut Parts<'_>) -> Turn {
        let result = self.failed.take().map_or_else(|| Ok(std::mem::take(&mut self.done)), Err);
        if let Some(answer) = self.answer.take() {
            answer(result, parts, self.outcome.clone());
        }
        Turn::Done
    }

    fn tell_journal(&mut self, parts: &mut Parts<'_>) {
        let records = parts.protection.take_records();
        parts.persistence.write_part(records, &mut self.outcome);
    }
}

fn size(page: &Change) -> usize {
    let (Change::Want(Want { targets, .. }) | Change::Release { targets, .. }) = page else { return 0 };
    targets.len()
}

impl Work for Request {
    fn turn(&mut self, parts: &mut Parts<'_>) -> Turn {
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
