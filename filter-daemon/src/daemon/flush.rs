//! Empties live lists page by page. Each page is complete: targets released before a failure stay released,
//! and the answer reports their number.

use std::sync::Arc;

use filter_common::sets::SetName;
use filter_common::target::Target;

use super::change::ChangeTotals;
use super::commit::CommitError;
use super::core::Core;
use super::jobs::Turn;
use super::persistence::WriteOutcome;
use crate::blocklist::{Applied, Blocklist, Change, ListId, ReleaseFrom, Targets};
use crate::clock;

/// The result of a flush.
#[derive(Clone, Debug, Default)]
pub struct Flushed {
    /// The changes of all lists together.
    pub done: ChangeTotals,
    /// The number of entries released from each list.
    pub lists: Vec<(Arc<str>, u64)>,
    /// Targets that other entries still block on all ports, or allow. They are not counted as unblocked.
    pub still: u64,
}

/// Empties these lists. A failure stops it.
pub async fn flush(
    turn: &Turn<impl AsMut<Core>>,
    lists: Vec<ListId>,
    outcome: &mut WriteOutcome,
) -> (Flushed, Option<CommitError>) {
    let (mut flushed, mut all) = (Flushed::default(), lists.clone());
    all.sort_unstable();
    for list in lists.into_iter().rev() {
        let mut after = Some(None);
        while let Some(from) = after {
            let page = turn.page(|core| flush_page(list, from, &all, &mut flushed, core)).await;
            after = match page {
                Ok(after) => after.map(Some),
                Err(error) => return (flushed, Some(error)),
            };
            turn.core(|core| {
                core.persistence.write_part(core.protection.take_records(), outcome);
            });
        }
    }
    (flushed, None)
}

/// Empties the next page of a list, after this target. Returns its last target if there may be more.
fn flush_page(
    list: ListId,
    after: Option<Target>,
    all: &[ListId],
    flushed: &mut Flushed,
    core: &mut Core,
) -> Result<Option<Target>, CommitError> {
    let blocklist = core.protection.blocklist();
    // Others may have emptied and forgotten the list meanwhile.
    if !blocklist.lists().has(list) || blocklist.lists().get(list).entries == 0 {
        return Ok(None);
    }
    let name = blocklist.lists().get(list).name.clone();
    let (targets, next) = blocklist.to_release(list, after, |_| true);
    let (set, reach) = (blocklist.lists().get(list).set(), blocklist.lists().reach_of(&name));
    let blocked: Targets = targets.iter().filter_map(|target| reach.of(target).next()).collect();
    let page = Change::Release { from: ReleaseFrom::List(name.clone()), targets };
    let applied = core.protection.commit(&page, clock::now())?;
    flushed.add(name, &applied);
    let still = StillListed::of(core.protection.blocklist(), set, all, &blocked, &applied);
    flushed.note_still(still);
    Ok(next)
}

impl Flushed {
    fn note_still(&mut self, StillListed { targets, left }: StillListed) {
        self.still += targets;
        // Each page has only one of the two.
        self.done.left = self.done.left.saturating_sub(left);
        self.done.disallowed = self.done.disallowed.saturating_sub(left);
    }

    fn add(&mut self, list: Arc<str>, applied: &Applied) {
        self.done.add(applied);
        match self.lists.last_mut() {
            Some((last, entries)) if *last == list => *entries += applied.changed,
            _ => self.lists.push((list, applied.changed)),
        }
    }
}

/// The targets of one page that are blocked, or allowed, by lists that stay.
#[derive(Debug, Default, PartialEq, Eq)]
struct StillListed {
    /// Targets that no list of this flush has any more.
    targets: u64,
    /// How many of them left their set, because the other entries are wider.
    left: u64,
}

impl StillListed {
    /// Counts them after the release of `blocked`. A target that a later list of this flush has, too, counts
    /// with that one.
    fn of(
        blocklist: &Blocklist,
        set: SetName,
        flushed: &[ListId],
        blocked: &Targets,
        applied: &Applied,
    ) -> Self {
        let (side, lists) = (blocklist.side(set), blocklist.lists());
        let mut others = lists.iter().filter(|(id, _)| flushed.binary_search(id).is_err());
        if !others.any(|(_, list)| list.set() == set && list.entries > 0) {
            return Self::default();
        }
        let is_covered = |target: &Target| side.is_covered_without(*target, flushed);
        let is_last = |target| !side.holders(target).iter().any(|list| flushed.binary_search(list).is_ok());
        let targets = blocked.iter().filter(is_covered).filter(|target| is_last(*target)).count() as u64;
        if targets == 0 {
            return Self::default();
        }
        let effects = &applied.effects.sets[set];
        Self { targets, left: effects.left.iter().filter(is_covered).count() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocklist::{Origin, Polarity, Timestamp, Want};

    const NOW: Timestamp = Timestamp::from_secs(1);

    fn targets(words: &[&str]) -> Targets {
        words.iter().map(|word| word.parse::<Target>().unwrap()).collect()
    }

    fn blocklist(lists: &[(&'static str, &[&str])]) -> Blocklist {
        let mut blocklist = Blocklist::default();
        for (list, words) in lists {
            let want = Want::live(*list, Polarity::Block, targets(words));
            let origin = if *list == "file" { Origin::File } else { Origin::Live };
            blocklist.apply(&Change::Want(Want { origin, ..want }), NOW).unwrap();
        }
        blocklist
    }

    /// Flushes these lists in this order. Returns the numbers of unblocked and still blocked targets.
    fn flush(mut blocklist: Blocklist, names: &[&'static str]) -> (u64, u64) {
        let all: Vec<_> = names.iter().map(|name| blocklist.lists().find(name).unwrap()).collect();
        let mut flushed = Flushed::default();
        for (name, list) in names.iter().zip(&all) {
            let set = blocklist.lists().get(*list).set();
            let (targets, _) = blocklist.to_release(*list, None, |_| true);
            let from = ReleaseFrom::List((*name).into());
            let applied = blocklist.apply(&Change::Release { from, targets: targets.clone() }, NOW).unwrap();
            flushed.add((*name).into(), &applied);
            let mut sorted = all.clone();
            sorted.sort_unstable();
            flushed.note_still(StillListed::of(&blocklist, set, &sorted, &targets, &applied));
        }
        (flushed.done.left, flushed.still)
    }

    #[test]
    fn flush_counts_targets_that_others_still_block() {
        let file: (&str, &[&str]) = ("file", &["198.51.100.0/24", "192.0.2.1"]);
        let covered = blocklist(&[file, ("manual", &["198.51.100.10", "203.0.113.1"])]);
        assert_eq!(flush(covered, &["manual"]), (1, 1), "one is within a prefix of the file");
        let same = blocklist(&[file, ("manual", &["192.0.2.1", "203.0.113.1"])]);
        assert_eq!(flush(same, &["manual"]), (1, 1), "the file has one, too");
        let nested = blocklist(&[file, ("manual", &["203.0.113.0/24", "203.0.113.9"])]);
        assert_eq!(flush(nested, &["manual"]), (2, 0), "both are gone");
        let twice = blocklist(&[
            file,
            ("one", &["203.0.113.7", "192.0.2.1"]),
            ("two", &["203.0.113.7", "192.0.2.1"]),
        ]);
        assert_eq!(flush(twice, &["one", "two"]), (1, 1), "each counts once");
    }
}
