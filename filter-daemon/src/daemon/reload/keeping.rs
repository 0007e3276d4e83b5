//! A list that is to block on other ports is a new one: where its file is not believed and there is no copy of it, what is on
//! the old one is what comes onto it.

use filter_common::target::Target;

use super::{Reload, Stage};
use crate::blocklist::Blocklist;

impl Reload {
    /// The next page of it.
    pub(super) fn keep(&mut self, list: usize, after: Option<Target>, blocklist: &Blocklist) -> Stage {
        let Some((turned, at)) = self.rows.kept.get(list) else {
            return self.begin_to_measure(false, blocklist);
        };
        let (page, next) = blocklist.to_release(*turned, after, |_| true);
        let (_, contents) = &mut self.rows.contents[*at];
        contents.extend(&page);
        if next.is_some() {
            return Stage::Keep { list, after: next };
        }
        contents.sort();
        Stage::Keep { list: list + 1, after: None }
    }
}
