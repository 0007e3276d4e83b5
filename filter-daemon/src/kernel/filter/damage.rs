//! Checks whether the tables that packets read still have their written content, and replaces them if they do
//! not.

use filter_common::set::{find4, find6};
use filter_common::sets::SetName;
use filter_common::target::Target;

use super::Filter;
use crate::blocklist::Effects;
use crate::kernel::KernelError;
use crate::kernel::needs::{Needs, Truth};

impl Filter {
    /// Checks the words that packets read first, before the tables. Returns a description of the first that
    /// was changed.
    pub fn damage(&self) -> Option<String> {
        if !self.overlap.is_as_written() {
            return Some("the pointer to the allowed entries was changed".to_owned());
        }
        self.sets.iter().find_map(|(_, set)| {
            let addresses = set.addresses.store.current_live().map(|live| live.stashed());
            let six = set.six.store.current_live().map(|live| live.stashed());
            let [wanted, found] = [addresses, six].into_iter().flatten().find(|[one, other]| one != other)?;
            Some(format!("a stash reports {found} entries, but {wanted} were stored there"))
        })
    }

    /// True if packets find this target in this set, or a target that covers it.
    pub fn holds(&self, name: SetName, target: Target) -> bool {
        let Some(seen) = self.seen() else { return true };
        match target {
            Target::V4(prefix) => find4(&seen.set(name), prefix.first()).is_some(),
            Target::V6(prefix) => find6(&seen.set(name), prefix.first().into()).is_some(),
        }
    }

    /// Rebuilds every table from the wanted targets, ignoring the current tables. One store makes packets see
    /// all of them. `everything` is the content of `truth`, and `needs` the room for it.
    pub fn make_anew(
        &mut self,
        needs: &Needs,
        everything: &Effects,
        truth: &impl Truth,
    ) -> Result<(), KernelError> {
        self.discard();
        let Self { sets, maps, .. } = self;
        sets.iter_mut().for_each(|(_, set)| set.drop_next(maps));
        self.overlap.drop_next(&mut self.maps);
        let made = self.fill_anew(needs, everything, truth);
        self.or_discard(made)
    }

    fn fill_anew(
        &mut self,
        needs: &Needs,
        everything: &Effects,
        truth: &impl Truth,
    ) -> Result<(), KernelError> {
        self.make_room(needs, truth)?;
        self.enter_allowed(everything, truth)?;
        self.enter_blocked(everything, truth)?;
        self.publish()
    }
}
