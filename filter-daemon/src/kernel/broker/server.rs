//! The holder of the kernel: makes maps, loads programs, attaches them. Whatever needs a capability is in this room, and
//! nothing in it reads what comes from the world, or believes who asks.

mod judges;
mod mend;
mod succession;
mod tables;

use std::os::fd::OwnedFd;
use std::path::Path;

use super::super::{KernelError, Link, version};
use super::counters::{self, slots};
use super::egress::Egress;
use super::judge::{Foreseen, Judge, Loader};
use super::kept::Kept;
use super::link::{Links, is_on_an_interface};
use super::making::Making;
use super::mending::Mending;
use super::pins::Pins;
use super::ration::Ration;
use super::request::{Answer, Earlier, MapUse, Request};
use super::root::Root;
use super::storage;
use super::surroundings::{self, Neighbours};
use crate::clock;
use crate::config::check_interface_name;
use crate::lock::Lock;
use crate::memory;
use aya::maps::MapData;

/// Everything of one daemon's that is in the kernel.
pub struct Server {
    pins: Pins,
    root: Root,
    links: Links,
    egress: Egress,
    kept: Kept,
    ration: Ration,
    making: Making,
    /// What was not as it had been left, until somebody is told.
    mending: Mending,
    /// Those of `kept`, and the counters: to be pinned again if somebody removes their pins.
    tables: Vec<(MapUse, MapData)>,
    counters: Option<MapData>,
    /// Where a judge tells drops in full, from when somebody watches until a judge is published that tells none.
    ring: Option<MapData>,
    /// Whose programs there were when it began.
    neighbours: Neighbours,
    loader: Loader,
    foreseen: Option<Foreseen>,
    ready: Option<Judge>,
    published: Option<Judge>,
    /// Links were there when it began.
    found_at_work: bool,
    /// Nothing of ours is left, or all of it is another's, who may be there already.
    is_gone: bool,
    /// What another filterd has published is what packets meet, as long as it has not made way.
    is_apart: bool,
    /// From then on that one goes on; in milliseconds of the machine's uptime.
    too_late: u64,
    /// No other filterd may touch these pins.
    lock: Lock,
}

impl Server {
    /// Opens the pins under `directory`, where a daemon before this one may have left a filter at work. That goes on
    /// until another is published.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        version::check()?;
        let is_new = directory.symlink_metadata().is_err();
        let (pins, lock) = Pins::open(directory)?;
        let root = counters::make_fit(&pins).and_then(|()| Root::open(&pins)).inspect_err(|_| {
            // Nothing is left of a start that came to nothing. What refuses that, too, is told by what is returned.
            if is_new {
                _ = pins.remove();
            }
        })?;
        Ok(Self::with(pins, root, lock, false))
    }

    /// The same beside a filterd that goes on: nothing of it is touched, and nothing is to be seen, until it makes way.
    pub fn beside(directory: &Path) -> Result<Self, KernelError> {
        version::check()?;
        let (mut pins, lock) = Pins::beside(directory)?;
        if !counters::fit(&pins)? {
            tracing::warn!("the other filterd counts differently: counters restart at zero");
            pins.count_apart();
        }
        let root = Root::open(&pins)?;
        Ok(Self::with(pins, root, lock, true))
    }

    fn with(pins: Pins, root: Root, lock: Lock, is_apart: bool) -> Self {
        let found_at_work = is_apart || !pins.links().is_empty();
        let (links, kept) = (Links::default(), Kept::behind(pins.latest_generation()));
        let mending = Mending::of(pins.directory());
        Self {
            pins,
            root,
            links,
            egress: Egress::default(),
            kept,
            ration: Ration::begin(memory::of_the_machine(), clock::instant()),
            making: Making::default(),
            mending,
            tables: Vec::new(),
            counters: None,
            ring: None,
            neighbours: Neighbours::look(),
            loader: Loader::default(),
            foreseen: None,
            ready: None,
            published: None,
            found_at_work,
            is_gone: false,
            is_apart,
            too_late: 0,
            lock,
        }
    }

    /// Prepares aside what judges will be loaded with.
    pub fn begin_loaders(&mut self) {
        self.loader.begin();
    }

    /// What is pinned.
    pub fn earlier(&self) -> Earlier {
        Earlier {
            latest_generation: self.pins.latest_generation(),
            blocked: self.pins.has_blocked(),
            attached: self.found_at_work,
            filters: self.pins.links().iter().any(|path| is_on_an_interface(path)),
        }
    }

    /// Does what is asked, and counts what became of maps.
    pub fn serve(&mut self, request: Request) -> Result<(Answer, Option<OwnedFd>), KernelError> {
        let answer = self.carry_out(request);
        self.ration.count(self.kept.bytes(), clock::instant());
        answer
    }

    fn carry_out(&mut self, request: Request) -> Result<(Answer, Option<OwnedFd>), KernelError> {
        let answer = match request {
            Request::Make { map, generation, words } => {
                let name = MapUse { map, generation };
                self.may_make(name, words)?;
                let made = storage::create(map, words)?;
                self.kept.made(name, words);
                return Ok((Answer::Done, Some(self.hand_over(name, made)?)));
            }
            Request::Begin { map, generation, words } => {
                let name = MapUse { map, generation };
                self.may_make(name, words)?;
                // It counts from now on, lest more be begun than there may be.
                self.kept.made(name, words);
                self.making.begin(name, words);
                Answer::Done
            }
            Request::Collect { map, generation, waits } => {
                let name = MapUse { map, generation };
                return self.collect(name, waits);
            }
            Request::Discard { map, generation } => {
                self.discard(MapUse { map, generation })?;
                Answer::Done
            }
            Request::Foresee(blueprint) => self.foresee(blueprint)?,
            Request::Prepare(blueprint) => {
                self.prepare(blueprint)?;
                Answer::Done
            }
            Request::Publish => {
                self.publish()?;
                Answer::Done
            }
            Request::Attach { name, index, mode } => {
                must_be_a_name(&name)?;
                self.must_be_in_time()?;
                let interface = surroundings::interface(&name, index)?;
                self.give_counters(index, &name)?;
                if self.matches_new() {
                    // Before the filter, so that what answers to this host is known from the first packet on.
                    self.egress.attach(&name, index, &self.pins);
                }
                let Self { links, root, pins, neighbours, .. } = self;
                Answer::Attached(links.attach(root, &interface, mode, pins, neighbours)?)
            }
            Request::Detach { interface } => {
                must_be_a_name(&interface)?;
                self.must_be_in_time()?;
                self.links.detach(&interface, &self.pins)?;
                self.egress.detach(&interface, &self.pins)?;
                Answer::Done
            }
            Request::Adopt => {
                self.must_be_in_time()?;
                self.links.adopt(&mut self.root, &self.pins);
                Answer::Done
            }
            Request::Look => Answer::Links(self.look()),
            Request::Rename { from, to, formerly } => {
                [&from, &to].into_iter().chain(&formerly).try_for_each(|name| must_be_a_name(name))?;
                self.must_be_in_time()?;
                self.links.rename(&from, &to, formerly.as_deref(), &self.pins)?;
                self.egress.rename(&from, &to, &self.pins)?;
                if let Some(counters) = &self.counters {
                    slots::rename(&counters::window(counters)?, &from, &to);
                }
                Answer::Done
            }
            Request::Renew => {
                self.must_be_in_time()?;
                Answer::Renewed(self.renew()?)
            }
            Request::MendPins => {
                self.mend_pins()?;
                Answer::Mended(self.mended())
            }
            Request::Samples => {
                self.may_make_bytes("samples", storage::RING.into())?;
                let ring = self.ring.insert(storage::create_ring()?);
                self.ration.made_aside(storage::RING.into());
                return Ok((Answer::Done, Some(mend::share(ring)?)));
            }
            Request::Ports => return Ok((Answer::Done, Some(self.egress.ports()?))),
            Request::Seed(keys) => {
                self.egress.seed(&keys, clock::at_last_tick())?;
                Answer::Done
            }
            Request::Count => Answer::Counted(counters::read(self.counters.as_ref(), &self.pins)?),
            Request::Succeed { too_late } => {
                self.too_late = too_late;
                self.must_be_in_time()?;
                if let (true, Some(judge)) = (self.is_apart, &self.published) {
                    self.root.meet(judge, &self.pins)?;
                }
                Answer::Done
            }
            Request::Settle => {
                self.settle()?;
                Answer::Done
            }
            Request::ComeBack => {
                self.come_back()?;
                Answer::Done
            }
            Request::GiveWay => {
                self.is_gone = true;
                Answer::Done
            }
            Request::Rollback if self.found_at_work => Answer::Done,
            Request::Rollback | Request::Remove => {
                self.remove()?;
                Answer::Done
            }
        };
        Ok((answer, None))
    }

    fn may_make(&mut self, map: MapUse, words: u32) -> Result<(), KernelError> {
        self.kept.may_make(map, words)?;
        self.may_make_bytes(map.map.name(), u64::from(words) * 8)
    }

    fn may_make_bytes(&mut self, name: &str, bytes: u64) -> Result<(), KernelError> {
        self.ration.count(self.kept.bytes(), clock::instant());
        self.ration.may_make(name, bytes, memory::free_on_the_machine())
    }

    /// What is dropped on this interface counts for it from the first packet on.
    fn give_counters(&mut self, index: u32, name: &str) -> Result<(), KernelError> {
        self.hold_counters()?;
        let attached: Vec<u32> = self.links.look(&self.pins).iter().map(|link| link.index).collect();
        if let Some(counters) = &self.counters {
            slots::give(&counters::window(counters)?, index, name, &attached);
        }
        Ok(())
    }

    fn remove(&mut self) -> Result<(), KernelError> {
        self.egress.end(&self.pins)?;
        let removed = self.pins.remove();
        // The last to hold a link lets the kernel take it off at once; where that is a pin, it does so later.
        self.links.forget();
        let left = removed.map_err(|error| KernelError::load("remove the pins", error))?;
        left.iter()
            .for_each(|path| tracing::warn!("{} is not filterd's and was left in place", path.display()));
        self.is_gone = true;
        Ok(())
    }

    /// Does what packets meet ask for own flows?
    fn matches_new(&self) -> bool {
        self.published.as_ref().is_some_and(Judge::matches_new)
    }

    fn end_unwanted_egress(&mut self, judge: &Judge) -> Result<(), KernelError> {
        if judge.matches_new() { Ok(()) } else { self.egress.end(&self.pins) }
    }

    fn look(&mut self) -> Vec<Link> {
        let mut links = self.links.look(&self.pins);
        links.iter_mut().for_each(|link| link.egress = self.egress.why_not(&link.name));
        links
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
