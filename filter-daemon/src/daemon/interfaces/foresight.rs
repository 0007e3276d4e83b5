//! Predicts the effect of a reload on interfaces. It runs the steps of a reload on copies of the state,
//! without asking the kernel to change anything.
//!
//! A driver that was never asked may still refuse the filter. The prediction knows only whether the kernel
//! reports that the driver cannot run programs, so it describes attempts to attach.

use super::{Interfaces, KernelState, ModeChange, followed, names, unknown};
use crate::clock;
use crate::control::wire::Fault;
use crate::kernel::{Filter, KernelError, interface};
use crate::source::trouble::Phrasing;

/// The effect that a reload would have on interfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfacePreview {
    /// Interfaces that would be filtered, if their drivers accept the filter.
    pub attach: Vec<String>,
    /// Interfaces that would no longer be filtered.
    pub detach: Vec<String>,
    /// Differences between the result and the configuration, in the conditional form.
    pub faults: Vec<Fault>,
}

impl Interfaces {
    /// Predicts the effect of a reload with these names.
    pub async fn look_ahead(
        &self,
        names: &[String],
        modes: ModeChange,
        filter: &mut Filter,
    ) -> Result<InterfacePreview, KernelError> {
        let reality =
            KernelState { there: interface::all().await?, links: filter.links()?, before: clock::instant() };
        Ok(self.foresee(names, modes, reality))
    }

    fn foresee(&self, names: &[String], modes: ModeChange, mut reality: KernelState) -> InterfacePreview {
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
        let faults = then.faults_in(Phrasing::Would).collect();
        if then.missed().is_none() {
            then.watched.retain(|one| !one.is_held_back());
        }
        let (before, after) = (self.filtered(), then.filtered());
        InterfacePreview { attach: beyond(&before, &after), detach: beyond(&after, &before), faults }
    }
}

/// The names of those whose numbers are not among `known`, which may have other names there.
pub fn beyond(known: &[(u32, String)], all: &[(u32, String)]) -> Vec<String> {
    let is_new = |index: u32| known.iter().all(|(known, _)| *known != index);
    all.iter().filter(|(index, _)| is_new(*index)).map(|(_, name)| name.clone()).collect()
}
