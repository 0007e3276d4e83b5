//! What is in force on one address with the ends of all of it, looked at plainly: whatever is not over is in force.

use std::net::IpAddr;

use filter_common::target::Target;

use crate::blocklist::{Blocklist, Polarity, Timestamp};

/// When what blocks it ends, and what allows it; nothing of what has no end.
#[derive(Debug)]
pub(super) struct Ends {
    blocks: Vec<Option<Timestamp>>,
    allows: Vec<Option<Timestamp>>,
}

impl Ends {
    pub(super) fn of(address: IpAddr, blocklist: &Blocklist) -> Self {
        let [blocks, allows] = [Polarity::Block, Polarity::Allow].map(|side| {
            let covering = blocklist.covering(side, Target::from(address));
            covering.into_iter().map(|claim| claim.until).collect()
        });
        Self { blocks, allows }
    }

    /// Does it pass now, and is it dropped one day, when without the reload it would not be?
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
