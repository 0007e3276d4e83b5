//! On which ports the entries of a list are blocked: lists of the same clause share a side, and so a set in the kernel.

use filter_common::ports::Clause;
use filter_common::sets::{SLOTS, Slot};

use super::{Blocklist, List, ListId};

/// There are as many clauses in force as there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSlot;

impl Blocklist {
    /// What each slot means. One on whose side nothing is may mean anything.
    pub const fn clauses(&self) -> &[Option<Clause>; SLOTS] {
        &self.clauses
    }

    /// On which ports the entries of `list` are blocked; on all if none.
    pub fn clause(&self, list: &List) -> Option<Clause> {
        self.clauses[list.slot?.number()]
    }

    /// The same of the list of this name, if there is one.
    pub fn clause_of(&self, name: &str) -> Option<Clause> {
        self.clause(self.lists.get(self.lists.find(name)?))
    }

    /// Whoever comes onto this list, on which nothing is yet, is blocked on the ports of this clause.
    pub fn restrict(&mut self, list: ListId, clause: Clause) -> Result<(), NoSlot> {
        let slot = self.slot_for(clause).ok_or(NoSlot)?;
        self.clauses[slot.number()] = Some(clause);
        self.lists.set_slot(list, slot);
        Ok(())
    }

    /// The slot that means this already, or one that no list has.
    fn slot_for(&self, clause: Clause) -> Option<Slot> {
        let has = |slot: &Slot| self.lists.iter().any(|(_, list)| list.slot == Some(*slot));
        Slot::all()
            .find(|slot| self.clauses[slot.number()] == Some(clause))
            .or_else(|| Slot::all().find(|slot| !has(slot)))
    }
}
