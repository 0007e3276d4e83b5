//! Counts packets per list. Reorders the lists page by page, reuses the numbers of removed lists once no
//! packet is counted under them, and reports recent rates through `recent`.

mod recent;
mod report;

use std::time::Duration;

use filter_common::labels::{Counters, Label};
use tracing::error;

use super::capacity::Capacity;
use super::commit::Protection;
use crate::blocklist::{Change, ListChange, Timestamp};
use crate::clock;
use crate::text::Explain;
pub use recent::OutcomeCounts;
use recent::RecentCounts;

/// The part of the owner's state that concerns counting per list.
#[derive(Default)]
pub struct Counting {
    /// The counters, while packets are counted per list.
    on: Option<ActiveCounting>,
    /// The counters when counting per list ended last; empty if it never ran.
    off: Vec<OutcomeCounts>,
    clearing: Option<LabelClearing>,
}

/// State that exists while packets are counted per list.
struct ActiveCounting {
    since: Timestamp,
    recent: RecentCounts,
    /// Counts of removed lists whose numbers other lists have taken.
    gone: OutcomeCounts,
}

/// Numbers that will be given to other lists.
struct LabelClearing {
    labels: Vec<Label>,
    /// No entry has had these numbers since this commit.
    after: u64,
}

impl Counting {
    /// Whether a page of work is due. Never during a reload, which sets the names and places of lists.
    pub fn is_due(&self, protection: &Protection, capacity: &Capacity, is_reloading: bool) -> bool {
        let is_ready = |clearing: &LabelClearing| !capacity.is_waiting_for(clearing.after);
        let may_clear = self.clearing.as_ref().is_some_and(is_ready);
        !is_reloading && (protection.blocklist().is_order_due() || may_clear)
    }

    /// Does the next page of work.
    pub fn turn(&mut self, protection: &mut Protection, capacity: &mut Capacity) {
        if let Some(clearing) = &self.clearing
            && capacity.check_grace(clearing.after)
        {
            self.clear(protection);
        }
        ListChange::Reorder.apply_to(protection.blocklist_mut(), clock::now());
        if protection.blocklist().is_relabelling() {
            // If the kernel refuses, packets are counted for the earlier list; nothing else depends on this.
            if let Err(error) = protection.commit(&Change::Relabel, clock::now()) {
                error!("drops are counted for the wrong lists: {}", error.explain());
            }
        }
        if self.clearing.is_none() && !protection.blocklist().is_relabelling() {
            let labels = protection.blocklist().numbers_to_clear();
            let after = protection.latest().commit;
            self.clearing = (!labels.is_empty()).then_some(LabelClearing { labels, after });
        }
    }

    /// Resets the counters of unused numbers. Skips all of them while lists are due to be reordered, and each
    /// one whose list has returned or is still counted under.
    fn clear(&mut self, protection: &mut Protection) {
        let Some(LabelClearing { labels, .. }) = self.clearing.take() else { return };
        if protection.blocklist().is_order_due() {
            return;
        }
        let unneeded = protection.blocklist().numbers_to_clear();
        for label in labels.into_iter().filter(|label| unneeded.contains(label)) {
            self.clear_one(label, protection);
        }
    }

    fn clear_one(&mut self, label: Label, protection: &mut Protection) {
        let counted = match &mut self.on {
            Some(on) => on.recent.since_begun(&protection.filter().list_counters()),
            None => Vec::new(),
        };
        protection.filter_mut().zero_list(label);
        if let Some(on) = &mut self.on {
            let counted = counted.get(usize::from(label)).copied().unwrap_or_default();
            on.gone = recent::sum(on.gone, counted);
            on.recent.begin_anew(label);
        }
        ListChange::FreeNumber(label).apply_to(protection.blocklist_mut(), clock::now());
    }

    /// The time until the counters must be read again.
    pub fn until_due(&self) -> Option<Duration> {
        self.on.as_ref().map(|on| on.recent.until_due(clock::instant()))
    }

    /// Reads the counters if that is due.
    pub fn look(&mut self, protection: &Protection) {
        let is_counted = protection.filter().settings().counters == Counters::Lists;
        let is_due = self.until_due().is_none_or(|left| left.is_zero());
        if is_counted != self.on.is_some() || is_counted && is_due {
            self.take_look(is_counted, protection);
        }
    }

    fn take_look(&mut self, is_counted: bool, protection: &Protection) {
        let counters = protection.filter().list_counters();
        match &mut self.on {
            Some(on) if is_counted => on.recent.note(counters, clock::instant()),
            None if is_counted => {
                // Counts made since counting was enabled, a moment ago, are included.
                let recent = RecentCounts::begin(std::mem::take(&mut self.off), clock::instant());
                self.on =
                    Some(ActiveCounting { since: clock::now(), recent, gone: OutcomeCounts::default() });
            }
            Some(_) | None => (self.on, self.off) = (None, counters),
        }
    }
}
