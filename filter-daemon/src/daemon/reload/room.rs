//! Room for old and new together, and the judge for it, before anything changes; and a reload that is published at once,
//! where the kernel has no grace periods.

use super::{Reload, Stage, Step};
use crate::blocklist::{Change, From, PAGE, Polarity, Targets};
use crate::clock;
use crate::daemon::commit::{NotDone, Protection};
use crate::daemon::needs;
use crate::daemon::pages::{Parts, Turn};
use crate::kernel::Needs;

impl Reload {
    /// Exactly only where it matters: most reloads bring little that is new.
    pub(super) fn measure(
        &mut self,
        list: usize,
        from: usize,
        mut needs: Needs,
        protection: &Protection,
    ) -> Stage {
        if list == 0 && from == 0 {
            let mut most = needs.clone();
            let lists = protection.blocklist().lists();
            let contents = self.rows.contents.iter();
            contents.for_each(|(id, targets)| {
                needs::add(&mut most, lists.get(*id).set(), &lists.get(*id).reach.all_of(targets));
            });
            self.rows.reaching.add_needs(&mut most, lists);
            if protection.filter().has_room(&most) {
                return Stage::Room(most);
            }
        }
        let Some((id, targets)) = self.rows.contents.get(list) else {
            self.rows.reaching.add_needs(&mut needs, protection.blocklist().lists());
            return Stage::Room(needs);
        };
        let page = targets.page(from, PAGE);
        if page.is_empty() {
            return Stage::Measure { list: list + 1, from: 0, needs };
        }
        let from = from + page.len();
        let difference = protection.blocklist().preview(&self.want(*id, page, protection.blocklist()));
        needs::add(&mut needs, protection.blocklist().lists().get(*id).set(), &difference.enters);
        Stage::Measure { list, from, needs }
    }

    /// Room for old and new together, and the judge for it, which is loaded aside.
    pub(super) fn make_room(&mut self, needs: Needs, parts: &mut Parts<'_>) -> (Stage, Turn) {
        if parts.capacity.is_graceless() {
            return (Stage::Ended(self.replace(parts.protection)), Turn::Done);
        }
        let (filter, blocklist) = parts.protection.parts();
        let waits = !filter.has_room(&needs)
            && filter.grow_aside(&needs, blocklist).is_ok_and(|growing| growing.any());
        if waits {
            return (Stage::Room(needs), Turn::Wait);
        }
        match filter.reserve_aside(&needs, blocklist) {
            Err(error) => return (Stage::Ended(Err(error.into())), Turn::Done),
            Ok(false) => return (Stage::Room(needs), Turn::Wait),
            Ok(true) => {}
        }
        match parts.protection.commit(&Change::Settings(self.settings[0]), clock::now()) {
            Err(error) => (Stage::Ended(Err(error)), Turn::Done),
            Ok(_) => (Stage::Loosen, Turn::More),
        }
    }

    /// The settings, if they drop less.
    pub(super) fn loosen(&mut self, protection: &mut Protection) -> (Stage, Turn) {
        let [before, after] = self.settings;
        if after.strictness() >= before.unpaused().strictness() {
            return (Stage::enter(Polarity::Allow), Turn::More);
        }
        match protection.filter_mut().foresee(after) {
            Err(error) => return (Stage::Ended(Err(error.into())), Turn::Done),
            Ok(false) => return (Stage::Loosen, Turn::Wait),
            Ok(true) => {}
        }
        match protection.commit(&Change::Settings(after), clock::now()) {
            Err(error) => (Stage::Ended(Err(error)), Turn::Done),
            Ok(_) => {
                self.applied.push(Step::Settings);
                (Stage::enter(Polarity::Allow), Turn::More)
            }
        }
    }

    /// Everything at once, for kernels without grace periods.
    fn replace(&mut self, protection: &mut Protection) -> Result<(), NotDone> {
        self.rows.reaching.settle(protection.blocklist_mut().lists_mut());
        let blocklist = protection.blocklist();
        let mut changes = vec![Change::Settings(self.settings[1])];
        for (id, targets) in &self.rows.contents {
            changes.push(self.want(*id, targets.clone(), blocklist));
        }
        changes.extend(self.rows.reaching.all_anew(blocklist));
        let nothing = Targets::default();
        let gone = self.rows.gone.iter().map(|id| (*id, &nothing));
        for (id, targets) in self.rows.contents.iter().map(|(id, targets)| (*id, targets)).chain(gone) {
            let over = blocklist.entries_of(id).filter(|target| !targets.contains(*target)).collect();
            let from = From::List(blocklist.lists().get(id).name.clone());
            changes.push(Change::Release { from, targets: over });
        }
        let done = protection.replace(&changes, clock::now())?;
        done.iter().for_each(|applied| self.done.add(applied));
        Ok(())
    }
}
