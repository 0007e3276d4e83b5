//! Which entries enter a list, since when each counts and until when it stays. This is the only place that
//! says so, whether entries enter page by page or all at once.

use std::borrow::Cow;

use filter_common::target::Target;

use super::rows::ListRows;
use crate::blocklist::{Blocklist, Change, EntryTimes, ListId, PAGE, Targets, TimedTargets, Timestamp, Want};
use crate::clock;

/// A page ends before it has more distinct times than this, because each is a change of its own.
const MOST_TIMES: usize = 16;

/// Some entries of a list, and where the next page begins.
pub struct EnteringPage {
    pub runs: Vec<TimedTargets>,
    pub next: usize,
}

impl ListRows {
    /// The next page of entries that enter this list or get another time, from this position of its contents
    /// on. None at the end.
    pub fn entering(&self, list: usize, from: usize, blocklist: &Blocklist) -> Option<EnteringPage> {
        let (id, targets) = self.contents.get(list)?;
        if let Some(restored) = self.restored.get(id) {
            return put_back(*id, restored, (from, targets), blocklist);
        }
        let page = targets.page(from, PAGE);
        if page.is_empty() {
            return None;
        }
        let (since, until) = (self.since(*id), self.until(*id));
        if let Some(turned) = self.turned(*id) {
            let (seen, runs) = times(&page, turned, (since, until), blocklist);
            return Some(EnteringPage { runs, next: from + seen });
        }
        let next = from + page.len();
        // Existing entries keep their times, and expired ones do not begin again.
        let targets = if self.is_over(*id) {
            blocklist.there_on(*id, &page)
        } else if self.lifetime(*id).goes_on() {
            blocklist.new_on(*id, &page)
        } else {
            page
        };
        Some(EnteringPage { runs: vec![TimedTargets { since, until, targets }], next })
    }

    /// The change that adds these entries, to be applied as of `since`.
    pub fn want(&self, id: ListId, run: TimedTargets, blocklist: &Blocklist) -> Change {
        let list = blocklist.lists().get(id);
        let (name, origin, polarity) = (list.name.clone(), list.origin, list.polarity);
        let (until, shorten) = (run.until, self.expires(id));
        Change::Want(Want { origin, until, shorten, ..Want::live(name, polarity, run.targets) })
    }

    /// Whether this entry leaves a list with these contents.
    pub fn leaves<'a>(&'a self, id: ListId, targets: &'a Targets) -> impl Fn(Target) -> bool + 'a {
        let restored = self.restored.get(&id);
        // The list may name it as before, but it had expired then.
        move |target| !targets.contains(target) || restored.is_some_and(|times| times.spent.contains(target))
    }
}

impl EnteringPage {
    /// All entries of the page.
    pub fn targets(&self) -> Cow<'_, Targets> {
        if let [run] = &self.runs[..] {
            return Cow::Borrowed(&run.targets);
        }
        let mut all = Targets::default();
        self.runs.iter().for_each(|run| all.extend(&run.targets));
        Cow::Owned(all)
    }
}

/// The next page of entries that the list still `names`, with their earlier times. An existing entry with its
/// own time has not changed. An expired one is not added again; if it still exists, it expires at once.
fn put_back(
    id: ListId,
    times: &EntryTimes,
    (mut from, names): (usize, &Targets),
    blocklist: &Blocklist,
) -> Option<EnteringPage> {
    let mut before = 0;
    let is_next = |run: &&TimedTargets| {
        before += run.targets.len();
        from < before
    };
    let TimedTargets { since, until, targets } = times.runs.iter().find(is_next)?;
    let page = targets.page(from + targets.len() - before, PAGE);
    from += page.len();
    let is_over = until.is_some_and(|until| until <= clock::now());
    let is_named = |target: &Target| names.contains(*target);
    let targets: Targets = page.iter().filter(is_named).collect();
    let targets = if is_over { blocklist.there_on(id, &targets) } else { targets };
    Some(EnteringPage { runs: vec![TimedTargets { since: *since, until: *until, targets }], next: from })
}

/// Groups the first of these targets by their times on the old list. Returns how many were handled.
fn times(
    page: &Targets,
    turned: ListId,
    new: (Timestamp, Option<Timestamp>),
    blocklist: &Blocklist,
) -> (usize, Vec<TimedTargets>) {
    let spent = &blocklist.lists().get(turned).spent;
    let mut runs: Vec<TimedTargets> = Vec::new();
    for (seen, target) in page.iter().enumerate() {
        if spent.contains(target) {
            continue;
        }
        let (since, until) = blocklist.times_of(target, turned).unwrap_or(new);
        match runs.iter().position(|run| (run.since, run.until) == (since, until)) {
            Some(at) => runs[at].targets.push(target),
            None if runs.len() == MOST_TIMES => return (seen, runs),
            None => runs.push(TimedTargets { since, until, targets: [target].into_iter().collect() }),
        }
    }
    (page.len(), runs)
}

#[cfg(test)]
mod tests {
    use filter_common::target::Prefix;

    use super::*;
    use crate::blocklist::{ListChange, Origin, Polarity};

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    #[test]
    fn page_splits_before_excess_times_and_omits_expired() {
        let address = |number: usize| Target::V4(Prefix::host(0xc000_0200 + number as u32));
        let all: Targets = (0..40).map(address).collect();
        let mut blocklist = Blocklist::default();
        // Every second address exists, with a time of its own; one has expired.
        for number in (0..40).step_by(2) {
            let until = Some(at(1000 + number as u32));
            let targets = [address(number)].into_iter().collect();
            let want = Want { origin: Origin::File, until, ..Want::live("old", Polarity::Block, targets) };
            blocklist.apply(&Change::Want(want), at(number as u32)).unwrap();
        }
        let old = blocklist.lists().find("old").unwrap();
        ListChange::Spend(old, [address(1)].into_iter().collect()).apply_to(&mut blocklist, at(40));
        let new = (at(500), Some(at(5000)));
        let (mut from, mut come) = (0, Vec::new());
        while from < all.len() {
            let (seen, runs) = times(&all.page(from, 40), old, new, &blocklist);
            assert!(seen > 0 && runs.len() <= MOST_TIMES);
            from += seen;
            let each = runs.into_iter().flat_map(|TimedTargets { since, until, targets }| {
                targets.iter().map(move |target| (target, since, until)).collect::<Vec<_>>()
            });
            come.extend(each);
        }
        come.sort();
        let expected = (0..40).filter(|number| *number != 1).map(|number| match number % 2 {
            0 => (address(number), at(number as u32), Some(at(1000 + number as u32))),
            _ => (address(number), new.0, new.1),
        });
        assert_eq!(come, expected.collect::<Vec<_>>());
    }
}
