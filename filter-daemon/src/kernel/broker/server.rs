//! The holder of the kernel: makes maps, loads programs, attaches them. Whatever needs a capability is in this room, and
//! nothing in it reads what comes from the world.

use std::os::fd::OwnedFd;
use std::path::Path;

use super::super::{KernelError, version};
use super::counters;
use super::judge::Judge;
use super::kept::Kept;
use super::link::Links;
use super::pins::Pins;
use super::request::{Answer, MapUse, Request};
use super::root::Root;
use super::storage;
use crate::config::check_interface_name;

/// Everything of one daemon's that is in the kernel.
pub struct Server {
    pins: Pins,
    root: Root,
    links: Links,
    kept: Kept,
    ready: Option<Judge>,
    published: Option<Judge>,
    /// Links were there when it began.
    found_at_work: bool,
}

impl Server {
    /// Opens the pins under `directory`, where a daemon before this one may have left a filter at work. That goes on
    /// until another is published.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        version::check()?;
        let pins = Pins::open(directory)?;
        counters::make_fit(&pins)?;
        let found_at_work = !pins.links().is_empty();
        let root = Root::open(&pins)?;
        let (links, kept) = (Links::default(), Kept::default());
        Ok(Self { pins, root, links, kept, ready: None, published: None, found_at_work })
    }

    /// The highest number that a map was pinned under.
    pub fn latest_generation(&self) -> u64 {
        self.pins.latest_generation()
    }

    /// Does what is asked.
    pub fn serve(&mut self, request: Request) -> Result<(Answer, Option<OwnedFd>), KernelError> {
        let answer = match request {
            Request::Make { map, generation, words } => {
                let made = storage::create(map, words, &self.pins.table(MapUse { map, generation }))?;
                self.kept.made(MapUse { map, generation });
                return Ok((Answer::Done, Some(made)));
            }
            Request::Discard { map, generation } => {
                self.discard(MapUse { map, generation })?;
                Answer::Done
            }
            Request::Prepare(blueprint) => {
                self.ready = Some(Judge::load(blueprint, &self.pins)?);
                Answer::Done
            }
            Request::Publish => {
                self.publish()?;
                Answer::Done
            }
            Request::Attach { interface, mode } => {
                must_be_a_name(&interface.name)?;
                Answer::Attached(self.links.attach(&mut self.root, &interface, mode, &self.pins)?)
            }
            Request::Detach { interface } => {
                must_be_a_name(&interface)?;
                self.links.detach(&interface, &self.pins)?;
                Answer::Done
            }
            Request::Look => Answer::Links(self.links.look()),
            Request::Rename { from, to } => {
                must_be_a_name(&from).and_then(|()| must_be_a_name(&to))?;
                self.links.rename(&from, &to, &self.pins)?;
                Answer::Done
            }
            Request::Count => Answer::Counted(counters::read(&self.pins)?),
            Request::DropPrivileges => Answer::Done,
            Request::Rollback if self.found_at_work => Answer::Done,
            Request::Rollback | Request::Remove => {
                let removed = self.pins.remove();
                // The last to hold a link lets the kernel take it off at once; where that is a pin, it does so later.
                self.links.forget();
                removed.map_err(|error| KernelError::load("remove the pins", error))?;
                Answer::Done
            }
        };
        Ok((answer, None))
    }

    /// Leaves everything as it is; nothing, where nothing is attached.
    pub fn leave(&mut self) {
        if !self.found_at_work && self.links.is_empty() {
            _ = self.pins.remove();
        }
    }

    /// Lets packets meet the judge that is ready.
    fn publish(&mut self) -> Result<(), KernelError> {
        let Some(judge) = self.ready.take() else { return Ok(()) };
        self.root.publish(&judge, &self.pins)?;
        self.kept.published(judge.maps());
        let keep: Vec<_> = self.kept.maps().iter().map(|kept| self.pins.table(*kept)).collect();
        if let Err(error) = self.pins.keep_tables(&keep) {
            tracing::warn!("cannot remove the pins of tables no longer in use: {error}");
        }
        self.published = Some(judge);
        Ok(())
    }

    /// The judge that was loaded for it goes too: it would hold its memory.
    fn discard(&mut self, map: MapUse) -> Result<(), KernelError> {
        if !self.kept.discarded(map) {
            return Ok(());
        }
        self.ready.take_if(|judge| judge.maps().contains(&map));
        self.pins.forget_table(map).map_err(|error| KernelError::load("remove the pin of a table", error))
    }
}

/// It becomes part of a path, and whoever asks may be somebody else than we think.
fn must_be_a_name(interface: &str) -> Result<(), KernelError> {
    check_interface_name(interface).map_err(|error| KernelError::load("use an interface", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interface_leads_out_of_the_pins() {
        assert!(must_be_a_name("eth0").is_ok());
        for path in ["../tables", "a/b", "..", "", "/etc/passwd"] {
            assert!(must_be_a_name(path).is_err(), "{path}");
        }
    }
}
