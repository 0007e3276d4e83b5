//! Port clauses of lists. Lists with the same clause share a side, and so a set in the kernel.

use filter_common::ports::{Clause, Port, Wants};
use filter_common::sets::{SLOTS, SetName, Slot};

use super::remote_ports;
use super::{Blocklist, ListId, ListInfo, ListSets, Meaning, Origin, Polarity, Refusal, Timestamp};

impl Blocklist {
    /// The clause of each slot. A slot with an empty side may hold any clause.
    pub const fn clauses(&self) -> &[Option<Clause>; SLOTS] {
        &self.clauses
    }

    /// The ports on which the entries of `list` are blocked; all ports if none.
    pub fn clause(&self, list: &ListInfo) -> Option<Clause> {
        self.clauses[list.slot?.number()]
    }

    pub fn meaning(&self, list: &ListInfo) -> Meaning {
        Meaning {
            polarity: list.polarity,
            ports: self.clause(list),
            direction: list.direction,
            reach: list.reach.settled(),
        }
    }

    /// The ports on which the entries of this list are blocked; all ports if none.
    pub fn clause_of(&self, list: ListId) -> Option<Clause> {
        self.clause(self.lists.get(list))
    }

    fn put_into(&mut self, list: ListId, slot: Slot, clause: Clause) {
        self.clauses[slot.number()] = Some(clause);
        self.lists.set_slot(list, slot);
    }

    /// The sets of a list that another service fills, also before it exists.
    pub fn sets_of_remote(&self, name: &str) -> ListSets {
        if let Some(id) = self.lists.find(name) {
            return self.lists.get(id).sets();
        }
        let slot = remote_ports::split(name).1.and_then(|clause| self.slot_for(clause));
        slot.map_or(SetName::Block, SetName::Clause).into()
    }

    /// Makes a new empty list for the targets that another service or a command wants.
    pub(super) fn make_kept_list(
        &mut self,
        name: &str,
        origin: Origin,
        polarity: Polarity,
        now: Timestamp,
    ) -> Result<ListId, Refusal> {
        let clause = remote_ports::split(name).1.filter(|_| origin == Origin::Remote);
        self.make_with_ports(name, origin, (polarity, clause), now)
    }

    /// Makes a new empty list that treats packets as `meaning` says.
    pub(super) fn make_with_meaning(
        &mut self,
        name: &str,
        origin: Origin,
        meaning: &Meaning,
        now: Timestamp,
    ) -> Result<ListId, Refusal> {
        let Meaning { polarity, ports, direction, reach } = *meaning;
        let id = self.make_with_ports(name, origin, (polarity, ports), now)?;
        self.lists.set_reach(id, reach);
        self.lists.set_direction(id, direction);
        Ok(id)
    }

    fn make_with_ports(
        &mut self,
        name: &str,
        origin: Origin,
        (polarity, clause): (Polarity, Option<Clause>),
        now: Timestamp,
    ) -> Result<ListId, Refusal> {
        let slot = clause.map(|clause| self.slot_for(clause).ok_or(Refusal::TooManyClauses)).transpose()?;
        let id = self.make_list(name, origin, polarity, now)?;
        if let Some((slot, clause)) = slot.zip(clause) {
            self.put_into(id, slot, clause);
        }
        Ok(id)
    }

    /// The slot that already has this clause, or one that no list uses.
    fn slot_for(&self, clause: Clause) -> Option<Slot> {
        let has = |slot: &Slot| self.lists.iter().any(|(_, list)| list.slot == Some(*slot));
        Slot::all()
            .find(|slot| self.clauses[slot.number()] == Some(clause))
            .or_else(|| Slot::all().find(|slot| !has(slot)))
    }
}

/// True if these clauses together drop everything, so that a source on lists of all of them is simply
/// blocked. Only later fragments still pass, because they carry no port.
pub fn want_everything(clauses: &[Clause]) -> bool {
    let wants = |port: Port| clauses.iter().any(|clause| clause.wants(port) == Wants::Drop);
    // The answer is constant between two of these ports.
    let edges = clauses.iter().flat_map(Clause::ranges).flat_map(|range| {
        let (first, last) = (range.first(), range.last());
        [first.saturating_sub(1), first, last, last.saturating_add(1)]
    });
    wants(Port::NONE) && edges.chain([0, u16::MAX]).all(|port| wants(Port::to(port)))
}

#[cfg(test)]
mod tests {
    use filter_common::ports::Range;

    use super::super::{BY_CROWDSEC, Bookmark, Change, Want};
    use super::*;

    fn clause(is_except: bool, said: &[(u16, u16)]) -> Clause {
        Clause::new(is_except, said.iter().map(|(first, last)| Range::new(*first, *last).unwrap())).unwrap()
    }

    /// The name of the list is enough to restore its ports.
    #[test]
    fn remote_lists_keep_their_ports_in_the_journal() {
        let (name, now) = ("crowdsec-capi-only-22", Timestamp::from_secs(100));
        let target = "192.0.2.1".parse().unwrap();
        let (mut blocklist, mut restored) = (Blocklist::default(), Blocklist::default());
        let want = |list: &str| {
            let targets = [target].into_iter().collect();
            let by = Some(format!("{BY_CROWDSEC}main").into());
            Change::Want(Want { origin: Origin::Remote, by, ..Want::live(list, Polarity::Block, targets) })
        };
        assert_eq!(blocklist.sets_of_remote("crowdsec-capi"), SetName::Block.into());
        let set = blocklist.sets_of_remote(name);
        assert_ne!(set, SetName::Block.into());
        for list in [name, "crowdsec-capi"] {
            blocklist.apply(&want(list), now).unwrap();
        }
        assert_eq!(blocklist.sets_of_remote(name), set);
        let (records, next) = blocklist.as_records(Bookmark::default(), usize::MAX, |_| true);
        assert_eq!((records.len(), next), (2, None));
        for record in records {
            restored.replay(&record, now).unwrap();
        }
        for (name, ports) in [(name, Some(clause(false, &[(22, 22)]))), ("crowdsec-capi", None)] {
            let list = restored.lists().find(name).unwrap();
            assert_eq!((restored.clause_of(list), restored.lists().get(list).entries), (ports, 1), "{name}");
        }
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
