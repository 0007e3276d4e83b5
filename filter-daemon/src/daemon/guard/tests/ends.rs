//! A plain model of one address: every entry that has not ended is in force.

use std::net::IpAddr;

use filter_common::target::Target;

use crate::blocklist::{Blocklist, Polarity, Timestamp};

/// When the entries that block the address end, and those that allow it; none for entries without an end.
#[derive(Debug)]
pub(super) struct AddressEnds {
    blocks: Vec<Option<Timestamp>>,
    allows: Vec<Option<Timestamp>>,
}

impl AddressEnds {
    pub(super) fn of(address: IpAddr, blocklist: &Blocklist) -> Self {
        let [blocks, allows] = [Polarity::Block, Polarity::Allow].map(|side| {
            let covering = blocklist.covering(side, Target::from(address));
            covering.into_iter().map(|claim| claim.until).collect()
        });
        Self { blocks, allows }
    }

    /// Whether it passes now, but is dropped at some moment when without the reload it would pass.
    pub(super) fn are_cut_later_than(&self, now: Timestamp, without: &Self) -> bool {
        let all = self.blocks.iter().chain(&self.allows).flatten();
        let mut moments: Vec<_> = all.copied().filter(|moment| *moment > now).collect();
        moments.sort();
        let first = moments.into_iter().find(|moment| self.drops(*moment));
        !self.drops(now) && first.is_some_and(|moment| !without.drops(moment))
    }

    fn drops(&self, moment: Timestamp) -> bool {
        let any = |ends: &[Option<Timestamp>]| ends.iter().any(|end| end.is_none_or(|end| end > moment));
        any(&self.blocks) && !any(&self.allows)
    }
}
