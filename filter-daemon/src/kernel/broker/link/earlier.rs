//! Adopts links that an earlier filterd left pinned, and restores their names after a failed replacement.

use std::path::Path;

use aya::programs::links::{FdLink, PinnedLink};
use tracing::{info, warn};

use super::super::held::{HeldLink, LinkState};
use super::super::pins::Pins;
use super::super::root::Root;
use super::Links;
use crate::config::pin;
use crate::kernel::KernelError;
use crate::text::{Explain, printable};

impl Links {
    /// Holds every pinned link that is still on an interface, in any network namespace, and gives it our
    /// program. A link that cannot be held is reported and left alone. Only a link whose interface is gone
    /// for good loses its pin.
    pub fn adopt(&mut self, root: &mut Root, pins: &Pins) {
        for path in pins.links() {
            let Some(name) = pin::interface(&path).filter(|name| !self.has(name)) else { continue };
            match adopted(&path, root, pins) {
                Ok(Some(held)) => _ = self.0.insert(name, held),
                Ok(None) => {}
                Err(error) => warn!("{} is left as it is: {}", printable::path(&path), error.explain()),
            }
        }
    }

    /// Renames pins to the names that our links have.
    pub fn restore_names(&self, pins: &Pins) -> Result<(), KernelError> {
        // Each round corrects one pin, even if several were exchanged.
        for _ in 0..self.0.len() {
            let Some((from, to)) = pins.links().iter().find_map(|path| self.misnamed(path)) else { break };
            pins.rename_link(&from, &to)
                .map_err(|error| KernelError::load("rename the pin of a link", error))?;
        }
        Ok(())
    }

    fn misnamed(&self, path: &Path) -> Option<(String, String)> {
        let now = pin::interface(path)?;
        let id = FdLink::from(PinnedLink::from_pin(path).ok()?).info().ok()?.id();
        let (name, _) = self.0.iter().find(|(_, held)| held.id() == id)?;
        (*name != now).then(|| (now, name.clone()))
    }
}

/// True if the link that is pinned there is still on an interface, in any network namespace.
pub fn is_on_an_interface(path: &Path) -> bool {
    let held = PinnedLink::from_pin(path).ok().and_then(|link| HeldLink::new(link.into(), path).ok());
    held.is_some_and(|mut held| held.seat().is_some())
}

fn adopted(path: &Path, root: &mut Root, pins: &Pins) -> Result<Option<HeldLink>, KernelError> {
    pins.must_be_ours(path)?;
    let link = PinnedLink::from_pin(path).map_err(|error| KernelError::load("open a pinned link", error))?;
    let held = HeldLink::new(link.into(), path);
    let mut held = held.map_err(|error| KernelError::load("ask for a pinned link", error))?;
    let Some(LinkState { program, .. }) = held.seat() else {
        if held.check_detached() {
            info!(
                "{}: this link is attached to no interface: the interface is missing, or another process detached the filter",
                printable::path(path)
            );
            let forgotten = pin::interface(path).map_or(Ok(()), |name| pins.forget_link(&name));
            forgotten.map_err(|error| KernelError::load("remove the pin of a link", error))?;
        }
        return Ok(None);
    };
    if program != root.id()? {
        root.return_to(path)?;
        let path = printable::path(path);
        if root.is_new() {
            warn!(
                "{path}: no root program was pinned beside this link, so it has a new one (before: id {program})"
            );
        } else {
            warn!(
                "{path}: this link had another program (id {program}) than the pinned one; filterd restored its own"
            );
        }
    }
    Ok(Some(held))
}
