//! What a reload would make of the interfaces: the very steps of a reload, with copies of what is known and as far as the kernel
//! need not be asked to do anything. Whether a driver takes the filter that was never asked is foreseen only as far as the kernel
//! says that it runs no programs; so what would be attached to is told as what would be tried.

use super::{Interfaces, Reality, followed, names, unknown};
use crate::clock;
use crate::config::Mode;
use crate::control::wire::Fault;
use crate::doctor;
use crate::kernel::{Filter, Interface, KernelError, interface};
use crate::source::trouble::Mood;
use crate::text::Explanation;

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

/// How interfaces are attached to.
#[derive(Clone, Copy, Debug)]
pub struct Modes {
    /// Until the reload.
    pub now: Mode,
    /// From then on.
    pub then: Mode,
}

impl Modes {
    /// Would somebody refuse who refuses now? He is asked at least every ten seconds.
    pub fn are_the_same(self) -> bool {
        self.now == self.then
    }

    /// Why this one would refuse, as far as the kernel says it without being asked to attach.
    pub fn refusal_of(self, interface: &Interface) -> Option<Explanation> {
        let is_refused = self.then == Mode::Native && doctor::runs_programs(interface.index) == Some(false);
        is_refused.then(|| {
            let name = &interface.name;
            Explanation::new(
                "`mode` is native, and its driver runs no XDP programs, says the kernel",
                format!(
                    "`mode: generic` filters it, and so does `auto`, several times slower; `filterd doctor --iface {name}` \
                     says more"
                ),
            )
        })
    }
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
