//! Packets counted for lists: the order of lists is made true page by page, numbers are given to other lists once nothing is
//! counted under them any more, and `recent` knows how much was counted of late.

mod recent;
mod report;

use std::time::Duration;

use filter_common::labels::{Counters, Label};
use tracing::error;

use super::capacity::Capacity;
use super::commit::Protection;
use super::pages::Parts;
use crate::blocklist::{Change, Timestamp};
use crate::clock;
use crate::text::Explain;
pub use recent::Counts;
use recent::Recent;

/// The part of the owner's state that is about what is counted for lists.
#[derive(Default)]
pub struct Counting {
    /// What is counted, while it is counted for lists at all.
    on: Option<On>,
    /// The counters as they were when it was counted for lists last; nothing if it never was.
    off: Vec<Counts>,
    clearing: Option<Clearing>,
}

/// Since packets are counted for lists.
struct On {
    since: Timestamp,
    recent: Recent,
    /// Counted for lists that are gone, whose numbers others have by now.
    gone: Counts,
}

/// Numbers that are to be given to other lists.
struct Clearing {
    labels: Vec<Label>,
    /// Nobody has them since this commit.
    after: u64,
}

impl Counting {
    /// Is there a page to be done? Not while a reload gives lists their names and places.
    pub fn is_due(&self, protection: &Protection, capacity: &Capacity, is_reloading: bool) -> bool {
        let is_ready = |clearing: &Clearing| !capacity.is_waiting_for(clearing.after);
        let may_clear = self.clearing.as_ref().is_some_and(is_ready);
        !is_reloading && (protection.blocklist().is_order_due() || may_clear)
    }

    /// Does a page.
    pub fn turn(&mut self, parts: &mut Parts<'_>) {
        if let Some(clearing) = &self.clearing
            && parts.capacity.has_been_seen(clearing.after)
        {
            self.clear(parts.protection);
        }
        let protection = &mut *parts.protection;
        if protection.blocklist_mut().reorder(clock::now()) {
            // What cannot be told to the kernel is counted for whom it was before; nothing else depends on it.
            if let Err(error) = protection.commit(&Change::Relabel, clock::now()) {
                error!("drops are counted for the wrong lists: {}", error.explain());
            }
        }
        if self.clearing.is_none() && !protection.blocklist().is_relabelling() {
            let labels = protection.blocklist().numbers_to_clear();
            let after = protection.latest().commit;
            self.clearing = (!labels.is_empty()).then_some(Clearing { labels, after });
        }
    }

    /// Numbers that nobody has are set back, unless their lists have come again, or something is counted under them still.
    fn clear(&mut self, protection: &mut Protection) {
        let Some(Clearing { labels, .. }) = self.clearing.take() else { return };
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
        protection.blocklist_mut().cleared(label);
    }

    /// How long until what is counted is to be looked at again.
    pub fn until_due(&self) -> Option<Duration> {
        self.on.as_ref().map(|on| on.recent.until_due(clock::instant()))
    }

    /// Looks at what is counted, if it is time to.
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
                // What was counted since it was switched on, a moment ago, counts.
                let recent = Recent::begin(std::mem::take(&mut self.off), clock::instant());
                self.on = Some(On { since: clock::now(), recent, gone: Counts::default() });
            }
            Some(_) | None => (self.on, self.off) = (None, counters),
        }
    }
}
