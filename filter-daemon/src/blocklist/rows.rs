//! Changes of the lists themselves: their rows, names, places and marks. They move no entry.

use super::{Blocklist, Change, ListChange, Timestamp};

impl ListChange {
    /// Applies a change of this kind. None can be refused.
    pub fn apply_to(self, blocklist: &mut Blocklist, now: Timestamp) {
        blocklist.apply(&Change::Lists(self), now).expect("nothing refuses a change of lists");
    }
}

impl Blocklist {
    pub(super) fn change_lists(&mut self, change: &ListChange, now: Timestamp) {
        match change {
            ListChange::Rename { renamed, going } => self.lists.rename_and_part(renamed.clone(), going),
            ListChange::Forget(list) => self.lists.forget(*list),
            ListChange::Places(in_order) => self.lists.set_places(in_order.iter().copied()),
            ListChange::Reach(list, reach) => self.lists.set_reach(*list, *reach),
            ListChange::LiveReaches(reaches) => self.lists.set_live_reaches(reaches.clone()),
            ListChange::Spend(list, targets) => self.lists.spend_all(*list, targets),
            ListChange::PassSpent { from, to } => self.lists.pass_spent(*from, *to),
            ListChange::Unspend(list, targets) => self.lists.unspend(*list, targets),
            ListChange::BeginOrder => self.begin_order(now),
            ListChange::Reorder => self.reorder(now),
            ListChange::FreeNumber(label) => self.free_number(*label),
        }
    }
}
