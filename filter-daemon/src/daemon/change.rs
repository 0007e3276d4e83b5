//! Carries out a request that adds or removes targets, page by page.
//!
//! A request is done completely or not at all. If a page is refused, the pages before it are undone.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::commit::{CommitError, Protection};
use super::core::Core;
use super::jobs::Turn;
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

/// A request that is being carried out.
struct Pages {
    /// All targets that the request adds, until there was room for them.
    entering: Option<Targets>,
    left: VecDeque<Change>,
    undo: Vec<Undo>,
    done: ChangeTotals,
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

/// Carries out these changes, which together concern all these targets. Nothing is changed if one of them is
/// refused. The journal gets all records but those of the last turn, and `outcome` its outcome.
pub async fn carry_out(
    turn: &Turn<impl AsMut<Core>>,
    targets: Targets,
    pages: Vec<Change>,
    outcome: &mut WriteOutcome,
) -> Result<ChangeTotals, CommitError> {
    let left = VecDeque::from(pages);
    // For a single page, `has_room` takes the targets from the page.
    let enters = left.len() > 1 && matches!(left.front(), Some(Change::Want(_)));
    let entering = enters.then_some(targets);
    let mut pages = Pages { entering, left, undo: Vec::new(), done: ChangeTotals::default() };
    while !pages.left.is_empty() {
        if let Err(error) = turn.until(|core| pages.next(core)).await {
            while let Some(undo) = pages.undo.pop() {
                turn.page(|core| {
                    tell_journal(core, outcome);
                    undo_page(undo, &mut core.protection);
                })
                .await;
            }
            return Err(error);
        }
        if !pages.left.is_empty() {
            turn.core(|core| tell_journal(core, outcome));
        }
    }
    Ok(pages.done)
}

impl Pages {
    /// Carries out the next page, and small pages after it. There is no result until there is room for the
    /// first.
    fn next(&mut self, core: &mut Core) -> Option<Result<(), CommitError>> {
        let mut targets = 0;
        while let Some(page) = self.left.pop_front() {
            targets += size(&page);
            let is_first = targets == size(&page);
            if (!is_first && targets > TOGETHER) || !self.make_room(&page, core) {
                self.left.push_front(page);
                return (!is_first).then_some(Ok(()));
            }
            match core.protection.commit(&page, clock::now()) {
                Ok(applied) => {
                    self.done.add(&applied);
                    self.undo.push(applied.undo);
                }
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(()))
    }

    fn make_room(&mut self, page: &Change, core: &mut Core) -> bool {
        let Change::Want(Want { list, polarity, targets, .. }) = page else { return true };
        let (blocklist, all) = (core.protection.blocklist(), self.entering.as_ref().unwrap_or(targets));
        let (sets, all) = (blocklist.sets_of(list, *polarity), blocklist.in_effect(list, all));
        let has_room = core.capacity.has_room(&mut core.protection, sets, &all);
        if has_room {
            self.entering = None;
        }
        has_room
    }
}

/// Undoes one page. An undo restores the state of a moment ago, and so needs no new room. If it is refused
/// nevertheless, blocklist and kernel still agree.
fn undo_page(undo: Undo, protection: &mut Protection) {
    if let Err(error) = protection.commit(&Change::Undo(undo), clock::now()) {
        tracing::error!("cannot undo a part of the refused change: {}", error.explain());
    }
}

fn tell_journal(core: &mut Core, outcome: &mut WriteOutcome) {
    let records = core.protection.take_records();
    core.persistence.write_part(records, outcome);
}

fn size(page: &Change) -> usize {
    let (Change::Want(Want { targets, .. }) | Change::Release { targets, .. }) = page else { return 0 };
    targets.len()
}
