//! Replays the records of the journal.

use std::collections::HashSet;
use std::sync::Arc;

use super::{
    Blocklist, Bookmark, Claim, Effects, ListId, Origin, Polarity, Reach, Record, Timestamp, TooManyLists,
};

impl Blocklist {
    /// Repeats a change at the time it was made. An entry that had expired by then is not extended. A
    /// recorded time later than `now` came from a clock that ran ahead, so it expires nothing.
    pub(super) fn replay(&mut self, record: &Record, now: Timestamp) -> Result<(), TooManyLists> {
        // A replay does not track overlaps.
        self.look = None;
        match record {
            Record::Want { list, polarity, since, until, note, by, targets } => {
                self.expire_all((*since).min(now));
                let origin = Origin::of_kept(by.as_deref());
                let list = self.kept_list(list, origin, *polarity, now)?;
                let by = by.clone().map(|by| self.sides[self.lists.get(list).set()].registry.shared(by));
                // Entries of lists that the journal keeps have their start from it. The start of other entries
                // was not recorded.
                let or_before = !self.lists.get(list).origin.is_kept();
                let (since, until, note) = (*since, *until, note.clone());
                let claim = Claim { list, since, or_before, until, note, by, reach: Reach::AS_GIVEN };
                self.want_silently(&claim, targets);
            }
            Record::Release { list, targets } => {
                if let Some(list) = self.lists.find(list) {
                    self.release_silently(list, targets.iter());
                    self.lists.forget_empty([list]);
                }
            }
            Record::ReleaseAll { list } => {
                if let Some(list) = self.lists.find(list) {
                    self.release_all(list);
                }
            }
        }
        Ok(())
    }

    /// Removes all entries that have expired at `now`, without reporting effects.
    pub(super) fn expire_all(&mut self, now: Timestamp) {
        for polarity in Polarity::ALL {
            while let Some((target, list)) = self.first_over(polarity, now) {
                self.exchange(target, list, None, &mut Effects::default());
                self.lists.spend(list, target);
                self.lists.forget_empty([list]);
            }
        }
    }

    /// Moves all entries of these live lists to the live lists of the names beside them. Returns the records
    /// for the journal.
    pub(super) fn move_entries(&mut self, moves: &[(ListId, Arc<str>)]) -> Result<Vec<Record>, TooManyLists> {
        let mut moves: Vec<_> =
            moves.iter().map(|(id, into)| (*id, self.lists.get(*id).name.clone(), into)).collect();
        // Lists with the name of a destination come first.
        let destinations: HashSet<_> = moves.iter().map(|(.., into)| (*into).clone()).collect();
        moves.sort_by_key(|(_, name, _)| !destinations.contains(name));
        let mut records = Vec::new();
        for (id, name, into) in moves {
            let mut from = Some(Bookmark::default());
            while let Some(begin) = from {
                let (claims, next) = self.as_records(begin, usize::MAX, |list| list == id);
                for mut record in claims {
                    if let Record::Want { list, .. } = &mut record {
                        *list = into.clone();
                    }
                    self.replay(&record, Timestamp::from_secs(0))?;
                    records.push(record);
                }
                from = next;
            }
            self.release_all(id);
            records.push(Record::ReleaseAll { list: name });
        }
        Ok(records)
    }

    /// Forgets all empty live lists.
    pub(super) fn forget_all_empty_lists(&mut self) {
        let all: Vec<ListId> = self.lists.iter().map(|(id, _)| id).collect();
        self.lists.forget_empty(all);
    }

    /// A list of this name with the other polarity was empty at that time; only clock differences make it
    /// look otherwise.
    fn kept_list(
        &mut self,
        name: &str,
        origin: Origin,
        polarity: Polarity,
        now: Timestamp,
    ) -> Result<ListId, TooManyLists> {
        let found = self.lists.find(name);
        if let Some(other) = found.filter(|id| self.lists.get(*id).polarity != polarity) {
            self.release_all(other);
        }
        match self.lists.find(name) {
            Some(id) => Ok(id),
            None => self.make_kept_list(name, origin, polarity, now).map_err(|_| TooManyLists),
        }
    }

    fn release_all(&mut self, list: ListId) {
        let targets: Vec<_> = self.entries_of(list).collect();
        self.release_silently(list, targets.into_iter());
        self.lists.forget_empty([list]);
    }

    fn want_silently(&mut self, claim: &Claim, targets: &super::Targets) {
        let mut effects = Effects::default();
        for target in targets.iter() {
            _ = self.extend(target, claim, &mut effects);
        }
    }

    fn release_silently(
        &mut self,
        list: ListId,
        targets: impl Iterator<Item = filter_common::target::Target>,
    ) {
        let mut effects = Effects::default();
        targets.for_each(|target| _ = self.exchange(target, list, None, &mut effects));
    }
}
