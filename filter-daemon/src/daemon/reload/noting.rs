//! Looks up at the end of a reload, page by page, when the entries of its lists were added and expire. The
//! copies of lists with a `ttl` store it.

use super::rows::FoundList;
use super::{ListFinding, ListRows, RunningReload};
use crate::blocklist::{ListId, PAGE};
use crate::daemon::core::Core;
use crate::daemon::jobs::Turn;
use crate::source::reading::SourceReadings;

impl RunningReload {
    /// Looks up the times of the entries of lists that expire.
    pub(super) async fn note_times(&mut self, turn: &Turn<impl AsMut<Core>>) {
        for list in 0..self.rows.contents.len() {
            let (id, mut from) = (self.rows.contents[list].0, 0);
            let is_told = |sources: &SourceReadings| self.rows.is_told(id, sources);
            if !self.rows.expires(id) || turn.core(|core| is_told(&core.lists.sources)) {
                continue;
            }
            loop {
                let page = self.rows.contents[list].1.page(from, PAGE);
                turn.page(|core| self.rows.timed.look_up(id, &page, core.protection.blocklist())).await;
                if page.is_empty() {
                    break;
                }
                from += page.len();
            }
        }
    }
}

impl ListRows {
    /// Whether the copy of this list keeps its bytes.
    pub fn stays_copied(&self, id: ListId) -> bool {
        let is_new = |found: &ListFinding| matches!(found, ListFinding::Accepted { draft: Some(_), .. });
        !self.found.iter().any(|found| found.id == id && is_new(&found.found))
    }

    /// Whether the copy has the same bytes, read in the same way, so that it already stores these times. This
    /// saves disk writes: a feed may be fetched every minute. A copy that could not be written has no stamp.
    fn is_told(&self, id: ListId, sources: &SourceReadings) -> bool {
        let Some(reading) = sources.of(id) else { return false };
        let is_written = reading.accepted.as_ref().is_some_and(|accepted| accepted.stamp.is_some());
        let is_same = |found: &FoundList| {
            matches!(found.found, ListFinding::Accepted { draft: None, .. })
                && reading.how == found.how.to_string()
        };
        let is_same = self.found.iter().any(|found| found.id == id && is_same(found));
        let goes_on = !self.made.contains(&id) && self.lifetime(id).goes_on();
        // What was restored from the times of a copy has them still.
        self.restored.contains_key(&id) || is_same && is_written && goes_on && !self.restores
    }
}
