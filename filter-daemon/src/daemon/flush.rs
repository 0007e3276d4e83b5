//! Live lists are emptied, page by page. Each page is whole: what was released before something failed stays released, and
//! how much that was is told.

use filter_common::target::Target;

use super::change::Done;
use super::commit::NotDone;
use super::pages::{Parts, Turn, Work};
use super::persistence::Outcome;
use crate::blocklist::{Change, From, ListId};
use crate::clock;

/// Told at the end: what was done, and why not more.
pub type Answered = Box<dyn FnOnce(Done, Option<NotDone>, &mut Parts<'_>, Outcome) + Send>;

/// Lists on their way out.
pub struct Flush {
    lists: Vec<ListId>,
    after: Option<Target>,
    done: Done,
    outcome: Outcome,
    answer: Option<Answered>,
}

impl Flush {
    /// Empties these lists.
    pub fn new(lists: Vec<ListId>, answer: Answered) -> Self {
        Self { lists, after: None, done: Done::default(), outcome: Outcome::default(), answer: Some(answer) }
    }

    fn end(&mut self, failed: Option<NotDone>, parts: &mut Parts<'_>) -> Turn {
        if let Some(answer) = self.answer.take() {
            answer(self.done, failed, parts, self.outcome.clone());
        }
        Turn::Done
    }
}

impl Work for Flush {
    fn turn(&mut self, parts: &mut Parts<'_>) -> Turn {
        let Some(&list) = self.lists.last() else { return self.end(None, parts) };
        let blocklist = parts.protection.blocklist();
        // It may have been emptied, and forgotten, by others.
        if !blocklist.lists().has(list) || blocklist.lists().get(list).entries == 0 {
            self.lists.pop();
            self.after = None;
            return Turn::More;
        }
        let name = blocklist.lists().get(list).name.clone();
        let (targets, next) = blocklist.to_release(list, self.after, |_| true);
        let page = Change::Release { from: From::List(name), targets };
        match parts.protection.commit(&page, clock::now()) {
            Ok(applied) => self.done.add(&applied),
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
