//! What a full answer lacks.

use std::collections::HashSet;
use std::sync::Arc;

use super::id::DecisionId;
use super::marks::is_confirmed;
use super::{DecisionBook, SAME_END};
use crate::blocklist::Timestamp;
use crate::crowdsec::StreamAnswer;

/// The differences between a full answer and the book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FullReport {
    /// Decisions that the book lacked although it took deltas. Another program may have taken them with the
    /// same key, or they were made since the last delta.
    pub missed: u64,
    /// Decisions and restored entries in force that the answer lacked.
    pub absent: u64,
    /// Those of them that were removed, because an earlier answer lacked them too.
    pub removed: u64,
    /// Those of them that stay although an earlier answer lacked them too: too many would be removed.
    pub held_back: u64,
}

impl DecisionBook {
    /// The number of decisions in this full answer that deltas should have brought.
    pub(super) fn missed(&self, answer: &StreamAnswer, now: Timestamp) -> u64 {
        if self.full_answers == 0 || !self.has_delta {
            return 0;
        }
        // The book may have forgotten a decision some seconds before LAPI does.
        let lasts = now.later_by(SAME_END as i64);
        let new = answer.new.iter().filter(|decision| decision.until > lasts);
        let ids: HashSet<_> = new.map(|decision| DecisionId::Lapi(decision.id)).collect();
        ids.iter().filter(|id| !self.decisions.contains_key(id)).count() as u64
    }

    /// Forgets the restored entries whose decisions the last full answer has.
    pub(super) fn adopt_restored(&mut self) {
        let adopted: Vec<_> = self.restored_ids().filter(|id| self.is_adopted(*id)).collect();
        for id in adopted {
            self.remove(id);
        }
    }

    fn restored_ids(&self) -> impl Iterator<Item = DecisionId> + '_ {
        self.decisions.keys().copied().filter(|id| id.is_restored())
    }

    /// Whether a decision of the last full answer requires the same entry.
    fn is_adopted(&self, id: DecisionId) -> bool {
        let decision = self.decisions.get(&id);
        let is_seen = |id: DecisionId| {
            let decision = self.decisions.get(&id).filter(|_| !id.is_restored());
            decision.is_some_and(|decision| decision.seen == self.full_answers)
        };
        let mut keys = decision.into_iter().flat_map(|decision| self.keys(decision));
        keys.any(|key| self.entries.claims(&key).iter().any(|(_, id)| is_seen(*id)))
    }

    /// Marks what the last full answer lacked, and removes what an earlier one lacked, too.
    pub(super) fn remove_absent(&mut self, now: Timestamp, max_shrink: u8) -> FullReport {
        let uncertain = self.lists_of_pending();
        let (mut absent, mut confirmed) = (0, Vec::new());
        for (id, decision) in &mut self.decisions {
            let is_uncertain = decision.origin.is_none() && uncertain.contains(&decision.list);
            if decision.seen == self.full_answers || is_uncertain {
                continue;
            }
            absent += 1;
            match decision.absent_since {
                Some(since) if is_confirmed(since, now) => confirmed.push(*id),
                Some(_) => {}
                None => {
                    decision.absent_since = Some(now);
                    self.marks.add(now);
                }
            }
        }
        let going = confirmed.len() as u64;
        if going * 100 > self.decisions.len() as u64 * u64::from(max_shrink) {
            return FullReport { absent, held_back: going, ..FullReport::default() };
        }
        for id in confirmed {
            self.remove(id);
        }
        FullReport { absent, removed: going, ..FullReport::default() }
    }

    /// The lists of decisions whose networks are not known yet. Restored entries of these lists may be
    /// theirs.
    fn lists_of_pending(&self) -> HashSet<Arc<str>> {
        let decisions = self.scopes.pending().filter_map(|id| self.decisions.get(&id));
        decisions.map(|decision| Arc::clone(&decision.list)).collect()
    }
}
