//! Reserves capacity for old and new entries together, and the judge for it, before anything changes. If the
//! kernel has no grace periods, the reload is published at once instead.

use filter_common::sets::PerSet;

use super::{ReloadStep, RunningReload};
use crate::blocklist::{Blocklist, Change, ListId, PAGE, Reach, ReleaseFrom, Settings, Targets};
use crate::clock;
use crate::daemon::commit::{CommitError, Protection};
use crate::daemon::core::Core;
use crate::daemon::jobs::Turn;
use crate::daemon::needs;
use crate::kernel::Needs;

/// The weight of entries counted in a turn when they are not examined one by one: a millisecond or two.
const AT_A_GLANCE: u64 = 8 * PAGE;

/// Counts some pages: from this position of this list on. Returns where the next page begins.
type CountPages = fn(&RunningReload, (usize, usize), &mut Needs, &Blocklist) -> (usize, usize);

impl RunningReload {
    /// Counts the required capacity, exactly only where it matters. Most reloads add little, and few entries
    /// of the longest lists exist already.
    pub(super) async fn measure(&self, turn: &Turn<impl AsMut<Core>>) -> Needs {
        // The first count assumes that no entry exists yet, which is mostly enough.
        let needs = self.count_all(Self::count, turn).await;
        let is_enough = turn.core(|core| {
            let protection = &core.protection;
            protection.filter().has_room(&needs) || self.are_hardly_known(protection.blocklist())
        });
        if is_enough { needs } else { self.count_all(Self::count_closely, turn).await }
    }

    async fn count_all(&self, count: CountPages, turn: &Turn<impl AsMut<Core>>) -> Needs {
        let before = turn.page(|core| needs::of(core.protection.blocklist())).await;
        let mut needs = Needs { counters: self.settings[1].counters, ..before };
        let (mut list, mut from) = (0, 0);
        while list < self.rows.contents.len() {
            let page = turn.page(|core| count(self, (list, from), &mut needs, core.protection.blocklist()));
            (list, from) = page.await;
        }
        turn.core(|core| {
            self.rows.reaching.add_needs(&mut needs, core.protection.blocklist().lists());
        });
        needs
    }

    /// Counts the entries of the next page that would enter. Returns where the page after it begins.
    fn count_closely(
        &self,
        (list, from): (usize, usize),
        needs: &mut Needs,
        blocklist: &Blocklist,
    ) -> (usize, usize) {
        let Some((id, _)) = self.rows.contents.get(list) else { return (list, 0) };
        let Some(page) = self.rows.entering(list, from, blocklist) else { return (list + 1, 0) };
        let (entering, row) = (page.targets(), blocklist.lists().get(*id));
        row.sets().into_iter().for_each(|set| blocklist.side(set).prefetch(&entering));
        needs::add_exactly(needs, blocklist, row.sets(), row.reach.all_of(&entering).iter());
        (list, page.next)
    }

    /// Counts the next pages as if none of their entries existed.
    fn count(
        &self,
        (mut list, mut from): (usize, usize),
        needs: &mut Needs,
        blocklist: &Blocklist,
    ) -> (usize, usize) {
        let (lists, mut left) = (blocklist.lists(), AT_A_GLANCE);
        while let Some((id, targets)) = self.rows.contents.get(list).filter(|_| left > 0) {
            let (page, row) = (targets.page(from, left), lists.get(*id));
            if page.is_empty() {
                (list, from) = (list + 1, 0);
                continue;
            }
            from += page.len();
            left = left.saturating_sub(page.weight());
            needs::add(needs, row.sets(), &row.reach.all_of(&page));
        }
        (list, from)
    }

    /// Whether nearly all entries are new and distinct. Then an exact count is not needed.
    fn are_hardly_known(&self, blocklist: &Blocklist) -> bool {
        let lists = blocklist.lists();
        let is_as_given = |(id, _): &(ListId, Targets)| lists.get(*id).reach == Reach::AS_GIVEN;
        let mut counts = PerSet::from_fn(|set| vec![blocklist.side(set).counts()]);
        for (id, targets) in &self.rows.contents {
            lists.get(*id).sets().into_iter().for_each(|set| counts[set].push(targets.counts()));
        }
        self.rows.contents.iter().all(is_as_given)
            && counts
                .iter()
                .all(|(_, counts)| (0..3).all(|kind| hardly_meet(counts.iter().map(|count| count[kind]))))
    }

    /// Reserves capacity for old and new together, and prepares the judge for it without blocking the owner.
    pub(super) async fn make_room(
        &self,
        needs: Needs,
        turn: &Turn<impl AsMut<Core>>,
    ) -> Result<(), CommitError> {
        turn.until(|core| {
            let (filter, blocklist) = core.protection.parts();
            let waits = !filter.has_room(&needs)
                && filter.grow_aside(&needs, blocklist).is_ok_and(|growing| growing.any());
            if waits {
                return None;
            }
            match filter.reserve_aside(&needs, blocklist) {
                Err(error) => return Some(Err(error.into())),
                Ok(false) => return None,
                Ok(true) => {}
            }
            let settings = Change::Settings(self.settings[0]);
            Some(core.protection.commit(&settings, clock::now()).map(drop))
        })
        .await
    }

    /// Applies the settings, if they drop less.
    pub(super) async fn loosen(&mut self, turn: &Turn<impl AsMut<Core>>) -> Result<(), CommitError> {
        let [before, after] = self.settings;
        if after.strictness() >= before.unpaused().strictness() {
            return Ok(());
        }
        self.set(after, turn).await?;
        self.applied.push(ReloadStep::Settings);
        Ok(())
    }

    /// Applies these settings, once the judge for them is loaded.
    pub(super) async fn set(
        &self,
        settings: Settings,
        turn: &Turn<impl AsMut<Core>>,
    ) -> Result<(), CommitError> {
        turn.until(|core| match core.protection.filter_mut().foresee(settings) {
            Ok(true) => Some(core.protection.commit(&Change::Settings(settings), clock::now()).map(drop)),
            Ok(false) => None,
            Err(error) => Some(Err(error.into())),
        })
        .await
    }

    /// Publishes everything at once, for kernels without grace periods.
    pub(super) fn replace(&mut self, protection: &mut Protection) -> Result<(), CommitError> {
        self.rows.reaching.settle(protection.blocklist_mut());
        let (blocklist, now) = (protection.blocklist(), clock::now());
        let mut changes = vec![(now, Change::Settings(self.settings[1]))];
        for (list, (id, _)) in self.rows.contents.iter().enumerate() {
            let mut from = 0;
            while let Some(page) = self.rows.entering(list, from, blocklist) {
                from = page.next;
                let wants = page.runs.into_iter().map(|run| (run.since, self.rows.want(*id, run, blocklist)));
                changes.extend(wants);
            }
        }
        changes.extend(self.rows.reaching.all_anew(blocklist).into_iter().map(|change| (now, change)));
        let nothing = Targets::default();
        let gone = self.rows.gone.iter().map(|id| (*id, &nothing));
        for (id, targets) in self.rows.contents.iter().map(|(id, targets)| (*id, targets)).chain(gone) {
            let leaves = self.rows.leaves(id, targets);
            let over = blocklist.entries_of(id).filter(|target| leaves(*target)).collect();
            let from = ReleaseFrom::List(blocklist.lists().get(id).name.clone());
            changes.push((now, Change::Release { from, targets: over }));
        }
        let done = protection.replace(&changes)?;
        done.iter().for_each(|applied| self.done.add(applied));
        Ok(())
    }
}

/// Whether the possible overlap of sets with these sizes is smaller than the spare space of a table for all
/// of them.
fn hardly_meet(counts: impl Iterator<Item = usize> + Clone) -> bool {
    const PART: usize = 64;
    let largest = counts.clone().max().unwrap_or(0);
    counts.sum::<usize>() - largest <= largest / PART
}

#[cfg(test)]
mod tests {
    use super::hardly_meet;

    #[test]
    fn long_list_is_counted_exactly_where_it_matters() {
        let hardly = |counts: &[usize]| hardly_meet(counts.iter().copied());
        assert!(hardly(&[]) && hardly(&[0, 0]) && hardly(&[0, 10_000_000]) && hardly(&[5, 0]));
        assert!(hardly(&[100, 6_400]) && hardly(&[6_400, 60, 40]));
        assert!(!hardly(&[101, 6_400]) && !hardly(&[6_400, 60, 41]) && !hardly(&[5, 5]));
    }
}
