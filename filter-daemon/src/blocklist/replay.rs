//! What the journal says was changed before, made true again.

use std::sync::Arc;

use super::{
    Blocklist, Bookmark, Claim, Effects, List, ListId, Origin, Polarity, Reach, Record, Timestamp,
    TooManyLists,
};

impl Blocklist {
    /// Makes a change that was made before, at its time. What was over by then is not extended; but a time that `now` says
    /// is still to come was told by a clock that ran ahead, and ends nothing.
    pub fn replay(&mut self, record: Record, now: Timestamp) -> Result<(), TooManyLists> {
        // Nobody notes what overlaps here.
        self.look = None;
        match record {
            Record::Want { list, polarity, since, until, note, by, targets } => {
                self.expire_all(since.min(now));
                let list = self.live_list(&list, polarity, now)?;
                let by = by.map(|by| self.sides[self.lists.get(list).set()].registry.shared(by));
                // What commands added has its time from the journal; nobody wrote down when anything else began.
                let or_before = !self.lists.get(list).origin.is_live();
                let claim = Claim { list, since, or_before, until, note, by, reach: Reach::AS_GIVEN };
                self.want_silently(&claim, &targets);
            }
            Record::Release { list, targets } => {
                if let Some(list) = self.lists.find(&list) {
                    self.release_silently(list, targets.iter());
                    self.lists.forget_empty([list]);
                }
            }
            Record::ReleaseAll { list } => {
                if let Some(list) = self.lists.find(&list) {
                    self.release_all(list);
                }
            }
        }
        Ok(())
    }

    /// What is over at `now` goes, all of it; nobody is told.
    pub fn expire_all(&mut self, now: Timestamp) {
        for polarity in Polarity::ALL {
            while let Some((target, list)) = self.first_over(polarity, now) {
                self.exchange(target, list, None, &mut Effects::default());
                self.lists.spend(list, target);
                self.lists.forget_empty([list]);
            }
        }
    }

    /// Live lists whose names `is_taken` go on in the list that `into` names for their kind. Tells it as the journal is to
    /// keep it.
    pub fn move_out_of_the_way(
        &mut self,
        is_taken: impl Fn(&List) -> bool,
        into: impl Fn(Polarity) -> &'static str,
    ) -> Result<Vec<Record>, TooManyLists> {
        let is_in_the_way = |list: &List| list.origin == Origin::Live && is_taken(list);
        let mut taken: Vec<(ListId, Arc<str>)> = self
            .lists
            .iter()
            .filter(|(_, list)| is_in_the_way(list))
            .map(|(id, list)| (id, list.name.clone()))
            .collect();
        // First whoever has a name that others are to go on in.
        taken.sort_by_key(|(_, name)| Polarity::ALL.iter().all(|polarity| into(*polarity) != &**name));
        let mut records = Vec::new();
        for (id, name) in taken {
            let into: Arc<str> = into(self.lists.get(id).polarity).into();
            let mut from = Some(Bookmark::default());
            while let Some(begin) = from {
                let (claims, next) = self.as_records(begin, usize::MAX, |list| list == id);
                for mut record in claims {
                    if let Record::Want { list, .. } = &mut record {
                        *list = into.clone();
                    }
                    self.replay(record.clone(), Timestamp::from_secs(0))?;
                    records.push(record);
                }
                from = next;
            }
            self.release_all(id);
            records.push(Record::ReleaseAll { list: name });
        }
        Ok(records)
    }

    /// Forgets live lists on which nothing is after all.
    pub fn forget_all_empty_lists(&mut self) {
        let all: Vec<ListId> = self.lists.iter().map(|(id, _)| id).collect();
        self.lists.forget_empty(all);
    }

    /// One of this name that is of the other kind was empty by then: only the clock says otherwise.
    fn live_list(&mut self, name: &str, polarity: Polarity, now: Timestamp) -> Result<ListId, TooManyLists> {
        let found = self.lists.find(name);
        if let Some(other) = found.filter(|id| self.lists.get(*id).polarity != polarity) {
            self.release_all(other);
        }
        match self.lists.find(name) {
            Some(id) => Ok(id),
            None => self.make_list(name, Origin::Live, polarity, now),
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
