//! A list whose ports change becomes a new list that continues the old one. If its file is not accepted and
//! there is no copy, it takes over the entries of the old one. Its entries keep their times.

use std::time::Duration;

use filter_common::target::Target;

use super::{ReloadStage, RunningReload};
use crate::blocklist::{Blocklist, Change, ListId, Polarity, Targets, TimedTargets, Timestamp, Want};
use crate::clock;
use crate::daemon::commit::Protection;

/// A page ends before it has more distinct times than this, because each is a change of its own.
const MOST_TIMES: usize = 16;

impl RunningReload {
    /// Takes over the next page of entries from the old list.
    pub(super) fn keep(&mut self, list: usize, after: Option<Target>, blocklist: &Blocklist) -> ReloadStage {
        let Some((turned, at)) = self.rows.kept.get(list) else {
            return self.begin_to_measure(false, blocklist);
        };
        let (page, next) = blocklist.to_release(*turned, after, |_| true);
        let (_, contents) = &mut self.rows.contents[*at];
        contents.extend(&page);
        if next.is_some() {
            return ReloadStage::Keep { list, after: next };
        }
        contents.sort();
        ReloadStage::Keep { list: list + 1, after: None }
    }

    /// Adds a page. Entries of the old list keep their times, expired ones are left out, and all others begin
    /// now.
    pub(super) fn keep_times(
        &mut self,
        (id, turned): (ListId, ListId),
        page: &Targets,
        (polarity, list, from): (Polarity, usize, usize),
        protection: &mut Protection,
    ) -> ReloadStage {
        let until = self.rows.lifetime(id).anew(clock::after(Duration::ZERO));
        let new = (clock::now(), until);
        let (seen, runs) = times(page, turned, new, protection.blocklist());
        let row = protection.blocklist().lists().get(id);
        let (name, origin) = (row.name.clone(), row.origin);
        let mut next = ReloadStage::Enter { polarity, list, from: from + seen };
        for TimedTargets { since, until, targets } in runs {
            let shorten = until.is_some();
            let want = Want { origin, until, shorten, ..Want::live(name.clone(), polarity, targets) };
            next = self.commit_as_of(since, Change::Want(want), next, protection);
            if let ReloadStage::Undo(_) = next {
                break;
            }
        }
        next
    }
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
    use crate::blocklist::{ListChange, Origin};

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
