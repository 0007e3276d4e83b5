//! What the journal says was changed before, made true again.

use std::sync::Arc;

use super::{Blocklist, Claim, List, ListId, Origin, Record, SetEffects, Timestamp, TooManyLists};

impl Blocklist {
    /// Makes a change that was made before, at its time. What was over by then is not extended; but a time that `now` says
    /// is still to come was told by a clock that ran ahead, and ends nothing.
    pub fn replay(&mut self, record: Record, now: Timestamp) -> Result<(), TooManyLists> {
        match record {
            Record::Want { list, since, until, note, by, targets } => {
                self.expire_all(since.min(now));
                let list = self.live_list(&list)?;
                let by = by.map(|by| self.registry.shared(by));
                self.want_silently(&Claim { list, since, until, note, by }, &targets);
            }
            Record::Release { list, targets } => {
                if let Some(list) = self.lists.find(&list) {
                    self.release_silently(list, targets.iter());
                    self.lists.forget_empty([list]);
                }
            }
            Record::ReleaseAll { list } => {
                if let Some(list) = self.lists.find(&list) {
                    let targets: Vec<_> = self.entries_of(list).collect();
                    self.release_silently(list, targets.into_iter());
                    self.lists.forget_empty([list]);
                }
            }
        }
        Ok(())
    }

    /// What is over at `now` goes, all of it; nobody is told.
    pub fn expire_all(&mut self, now: Timestamp) {
        while let Some((target, list)) = self.deadlines.first_over(now) {
            self.exchange(target, list, None, &mut SetEffects::default());
            self.lists.spend(list, target);
            self.lists.forget_empty([list]);
        }
    }

    /// Live lists whose names `is_taken` go on in the list `into`. Tells it as the journal is to keep it.
    pub fn move_out_of_the_way(
        &mut self,
        is_taken: impl Fn(&str) -> bool,
        into: &str,
    ) -> Result<Vec<Record>, TooManyLists> {
        let is_in_the_way = |list: &List| list.origin == Origin::Live && is_taken(&list.name);
        let taken: Vec<(ListId, Arc<str>)> = self
            .lists
            .iter()
            .filter(|(_, list)| is_in_the_way(list))
            .map(|(id, list)| (id, list.name.clone()))
            .collect();
        let mut records = Vec::new();
        for (id, name) in taken {
            let mut after = None;
            loop {
                let (claims, next) = self.as_records(after, usize::MAX, |list| list == id);
                for mut record in claims {
                    if let Record::Want { list, .. } = &mut record {
                        *list = into.into();
                    }
                    self.replay(record.clone(), Timestamp::from_secs(0))?;
                    records.push(record);
                }
                after = next;
                if after.is_none() {
                    break;
                }
            }
            let over = Record::ReleaseAll { list: name };
            self.replay(over.clone(), Timestamp::from_secs(0))?;
            records.push(over);
        }
        Ok(records)
    }

    /// Forgets live lists on which nothing is after all.
    pub fn forget_all_empty_lists(&mut self) {
        let all: Vec<ListId> = self.lists.iter().map(|(id, _)| id).collect();
        self.lists.forget_empty(all);
    }

    fn live_list(&mut self, name: &str) -> Result<ListId, TooManyLists> {
        match self.lists.find(name) {
            Some(id) => Ok(id),
            None => self.lists.make_anyway(name, Origin::Live),
        }
    }

    fn want_silently(&mut self, claim: &Claim, targets: &super::Targets) {
        let mut effects = SetEffects::default();
        for target in targets.iter() {
            _ = self.extend(target, claim, &mut effects);
        }
    }

    fn release_silently(
        &mut self,
        list: ListId,
        targets: impl Iterator<Item = filter_common::target::Target>,
    ) {
        let mut effects = SetEffects::default();
        targets.for_each(|target| _ = self.exchange(target, list, None, &mut effects));
    }
}
