//! On which ports the entries of a list are blocked: lists of the same clause share a side, and so a set in the kernel.

use filter_common::ports::{Clause, Port, Wants};
use filter_common::sets::{SLOTS, Slot};

use super::{Blocklist, List, ListId, Meaning};

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

    /// What it means to be on `list`.
    pub fn meaning(&self, list: &List) -> Meaning {
        Meaning { polarity: list.polarity, ports: self.clause(list), reach: list.reach.settled() }
    }

    /// On which ports the entries of the list of this number are blocked; on all if none.
    pub fn clause_of(&self, list: ListId) -> Option<Clause> {
        self.clause(self.lists.get(list))
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

/// Do these together want everything dropped, so that who is on lists of all of them is simply blocked? Only later fragments
/// pass, which tell no port.
pub fn want_everything(clauses: &[Clause]) -> bool {
    let wants = |port: Port| clauses.iter().any(|clause| clause.wants(port) == Wants::Drop);
    // Between two of these nothing changes.
    let edges = clauses.iter().flat_map(Clause::ranges).flat_map(|range| {
        let (first, last) = (range.first(), range.last());
        [first.saturating_sub(1), first, last, last.saturating_add(1)]
    });
    wants(Port::NONE) && edges.chain([0, u16::MAX]).all(|port| wants(Port::to(port)))
}

#[cfg(test)]
mod tests {
    use filter_common::ports::Range;

    use super::*;

    fn clause(is_except: bool, said: &[(u16, u16)]) -> Clause {
        Clause::new(is_except, said.iter().map(|(first, last)| Range::new(*first, *last).unwrap())).unwrap()
    }

    #[test]
    fn clauses_that_leave_nothing_open_are_one_block() {
        let ssh = clause(false, &[(22, 22)]);
        let but_ssh = clause(true, &[(22, 22)]);
        let all = clause(false, &[(0, u16::MAX)]);
        for (clauses, everything) in [
            (&[ssh, but_ssh][..], true),
            (&[but_ssh, ssh], true),
            (&[clause(true, &[(22, 23)]), ssh, clause(false, &[(23, 80)])], true),
            (&[clause(true, &[(22, 80)]), clause(true, &[(81, 90)])], true),
            (&[clause(true, &[(22, 24)]), ssh, clause(false, &[(24, 24)])], false),
            (&[clause(true, &[(0, 0)]), ssh], false),
            (&[clause(true, &[(u16::MAX, u16::MAX)]), ssh], false),
            (&[ssh], false),
            (&[but_ssh], false),
            (&[], false),
        ] {
            assert_eq!(want_everything(clauses), everything, "{clauses:?}");
        }
        assert!(!want_everything(&[all]), "pings pass");
    }
}
