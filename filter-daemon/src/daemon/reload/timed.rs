//! The times of entries on lists that expire: as their copies tell a start, and as their new copies must
//! store them. The list's file may have changed by the next start.

use std::collections::HashMap;

use crate::blocklist::{Blocklist, EntryTimes, ListId, Targets, TimedTargets, TimesCollector, Timestamp};

/// The times of lists whose entries expire.
#[derive(Debug, Default)]
pub struct ListTimes {
    /// The times in the copies.
    copied: HashMap<ListId, EntryTimes>,
    /// The times that new copies are to store.
    noted: HashMap<ListId, NotedTimes>,
}

#[derive(Debug)]
enum NotedTimes {
    /// They are being looked up.
    Gathering(TimesCollector),
    /// They are all known.
    Times(EntryTimes),
}

impl ListTimes {
    /// Sets the times in the copy of this list.
    pub fn tells(&mut self, id: ListId, times: EntryTimes) {
        self.copied.insert(id, times);
    }

    /// The times of the entries that this list names at a start. Entries that no copy knows count as `new`.
    /// Entries that expired by `now` are not added. The times are kept for a new copy, unless the copy that
    /// `stays` has them already.
    pub fn begin(
        &mut self,
        id: ListId,
        targets: Targets,
        new: (Timestamp, Option<Timestamp>),
        (stays, now): (bool, Timestamp),
    ) -> EntryTimes {
        let (since, until) = new;
        let Some(copied) = self.copied.remove(&id) else {
            let times =
                EntryTimes { runs: vec![TimedTargets { since, until, targets }], ..EntryTimes::default() };
            self.note(id, &times);
            return spending(times, now);
        };
        let named = copied.of(&targets);
        drop(copied);
        let is_told = named.new.is_empty() && !named.has_gone;
        let mut times = named.known;
        if !named.new.is_empty() {
            times.runs.push(TimedTargets { since, until, targets: named.new });
        }
        if !(is_told && stays) {
            self.note(id, &times);
        }
        spending(times, now)
    }

    fn note(&mut self, id: ListId, times: &EntryTimes) {
        self.noted.insert(id, NotedTimes::Times(times.clone()));
    }

    /// Looks up the times of a page of entries of this list.
    pub fn look_up(&mut self, id: ListId, page: &Targets, blocklist: &Blocklist) {
        let noted = self.noted.entry(id).or_insert_with(|| NotedTimes::Gathering(TimesCollector::default()));
        if let NotedTimes::Gathering(gathering) = noted {
            gathering.look_up(page, id, blocklist);
        }
    }

    /// The times to store in the copy of this list, if they have changed.
    pub fn take_noted(&mut self, id: ListId) -> Option<EntryTimes> {
        match self.noted.remove(&id)? {
            NotedTimes::Gathering(gathering) => Some(gathering.into_times()),
            NotedTimes::Times(times) => Some(times),
        }
    }

    /// Takes the times of the entries that are restored to these lists, where copies know all of them.
    pub fn take_copied(&mut self, contents: &[(ListId, Targets)]) -> HashMap<ListId, EntryTimes> {
        let known = contents.iter().filter_map(|(id, targets)| {
            let times = self.copied.remove(id)?;
            times.of(targets).new.is_empty().then_some((*id, times))
        });
        known.collect()
    }
}

/// Marks runs that expired by `now` as spent.
fn spending(mut times: EntryTimes, now: Timestamp) -> EntryTimes {
    let is_over = |run: &mut TimedTargets| run.until.is_some_and(|until| until <= now);
    for over in times.runs.extract_if(.., is_over) {
        times.spent.extend(&over.targets);
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocklist::{Change, Meaning, Origin, Polarity};

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    fn targets(numbers: impl IntoIterator<Item = u8>) -> Targets {
        numbers.into_iter().map(|number| format!("192.0.2.{number}").parse().unwrap()).collect()
    }

    fn run(since: u32, until: u32, numbers: impl IntoIterator<Item = u8>) -> TimedTargets {
        TimedTargets { since: at(since), until: Some(at(until)), targets: targets(numbers) }
    }

    fn list() -> ListId {
        let meaning = Meaning::plain(Polarity::Block);
        let make = Change::Make { name: "seen".into(), origin: Origin::File, meaning };
        Blocklist::default().apply(&make, at(0)).unwrap().made.unwrap()
    }

    /// Starts at 100 a list whose copy has these times; new entries expire at 200. Returns what is on the
    /// list, and what is to be stored.
    fn begin(copied: Option<EntryTimes>, named: Targets, stays: bool) -> (EntryTimes, Option<EntryTimes>) {
        let (mut timed, id) = (ListTimes::default(), list());
        copied.into_iter().for_each(|times| timed.tells(id, times));
        let begun = timed.begin(id, named, (at(100), Some(at(200))), (stays, at(100)));
        (begun, timed.take_noted(id))
    }

    /// One run that lasts, one that expired meanwhile, and entries that had expired before.
    fn copied() -> EntryTimes {
        EntryTimes { runs: vec![run(50, 150, 0..3), run(10, 100, 3..6)], spent: targets(6..9) }
    }

    #[test]
    fn start_reuses_known_times_and_omits_expired() {
        let begun = EntryTimes { runs: vec![run(50, 150, 0..3)], spent: targets([6, 7, 8, 3, 4, 5]) };
        let (found, noted) = begin(Some(copied()), targets(0..9), true);
        let found = EntryTimes { spent: found.spent.iter().collect(), ..found };
        assert_eq!((found, noted), (begun, None));
        assert_eq!(begin(Some(copied()), targets(0..9), false).1, Some(copied()), "it is written anew");
    }

    #[test]
    fn new_and_removed_entries_are_recorded() {
        let (found, noted) = begin(Some(copied()), targets((1..9).chain([20])), true);
        assert_eq!(found.runs, [run(50, 150, 1..3), run(100, 200, [20])]);
        let runs = vec![run(50, 150, 1..3), run(10, 100, 3..6), run(100, 200, [20])];
        assert_eq!(noted, Some(EntryTimes { runs, spent: targets(6..9) }));
        let (_, noted) = begin(Some(copied()), targets(0..8), true);
        assert_eq!(
            noted.map(|times| times.spent),
            Some(targets(6..8)),
            "it comes anew when it is named again"
        );
        let new = EntryTimes { runs: vec![run(100, 200, 0..3)], spent: Targets::default() };
        assert_eq!(begin(None, targets(0..3), true), (new.clone(), Some(new)), "no copy tells anything");
    }

    #[test]
    fn rollback_uses_times_of_a_complete_copy() {
        for (named, knows) in [(0..9, true), (0..10, false)] {
            let (mut timed, id) = (ListTimes::default(), list());
            timed.tells(id, copied());
            let restored = timed.take_copied(&[(id, targets(named))]);
            assert_eq!(restored.get(&id), knows.then(copied).as_ref());
        }
    }
}
