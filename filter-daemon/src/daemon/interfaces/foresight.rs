//! What a reload would make of the interfaces: the very steps of a reload, with copies of what is known and as far as the kernel
//! need not be asked to do anything. Whether a driver takes the filter that was never asked is foreseen only as far as the kernel
//! says that it runs no programs; so what would be attached to is told as what would be tried.

use super::{Interfaces, Modes, Reality, followed, names, unknown};
use crate::clock;
use crate::control::wire::Fault;
use crate::kernel::{Filter, KernelError, interface};
use crate::source::trouble::Mood;

/// What would come of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreseen {
    /// Would be filtered from then on, if their drivers take the filter.
    pub attach: Vec<String>,
    /// Would be filtered no longer.
    pub detach: Vec<String>,
    /// What would not be as the configuration says, in words of what would be.
    pub faults: Vec<Fault>,
}

impl Interfaces {
    /// Looks what would come of a reload that names these.
    pub async fn look_ahead(
        &self,
        names: &[String],
        modes: Modes,
        filter: &mut Filter,
    ) -> Result<Foreseen, KernelError> {
        let reality =
            Reality { there: interface::all().await?, links: filter.links()?, before: clock::instant() };
        Ok(self.foresee(names, modes, reality))
    }

    fn foresee(&self, names: &[String], modes: Modes, mut reality: Reality) -> Foreseen {
        let put_off: Vec<_> =
            self.watched.iter().filter(|one| one.is_put_off()).map(|one| one.name().to_owned()).collect();
        let (mut watched, _) = followed(self.watched.clone(), names);
        names::settle(&mut watched, &mut reality, |_| Ok(()));
        let left = unknown(&watched, &reality);
        watched.extend(left);
        for one in &mut watched {
            let was_put_off = put_off.iter().any(|name| name == one.name());
            one.foresee(&reality, modes, was_put_off);
        }
        watched.retain(|one| !one.is_over());
        let mut then = Self { watched, ..Self::new() };
        let faults = then.faults_in(Mood::Would).collect();
        if then.missed().is_none() {
            then.watched.retain(|one| !one.is_held_back());
        }
        let (before, after) = (self.filtered(), then.filtered());
        Foreseen { attach: beyond(&before, &after), detach: beyond(&after, &before), faults }
    }
}

/// The names of those that are not among `known`, whatever they are called there.
pub fn beyond(known: &[(u32, String)], all: &[(u32, String)]) -> Vec<String> {
    let is_new = |index: u32| known.iter().all(|(known, _)| *known != index);
    all.iter().filter(|(index, _)| is_new(*index)).map(|(_, name)| name.clone()).collect()
}
