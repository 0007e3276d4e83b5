//! Carries out the broker's requests: it makes maps, loads programs and attaches them. All code that needs a
//! capability is here. None of it reads untrusted input or trusts the requests.

mod judges;
mod mend;
mod parting;
mod tables;

use std::os::fd::OwnedFd;
use std::path::Path;

use super::super::hook::Hook;
use super::super::{KernelError, Link, version};
use super::connect::ConnectPrograms;
use super::counters::{self, slots};
use super::egress::Egress;
use super::judge::{BackgroundJudge, Judge};
use super::kept::KeptMaps;
use super::link::{self, Links, is_on_an_interface};
use super::making::Making;
use super::mending::TamperingLog;
use super::pins::Pins;
use super::ration::MemoryLimit;
use super::request::{EarlierPins, MapUse, Reply, Request};
use super::roots::Roots;
use super::sent::SentPrograms;
use super::sent_work::SentWork;
use super::storage;
use super::surroundings::{self, LoadedPrograms};
use crate::clock;
use crate::config::check_interface_name;
use crate::lock::Lock;
use crate::memory;
use aya::maps::MapData;

/// Everything that belongs to one daemon in the kernel.
pub struct BrokerServer {
    pins: Pins,
    roots: Roots,
    links: Links,
    egress: Egress,
    /// The judge of destinations, on what interfaces send.
    outbound: SentPrograms,
    connect: ConnectPrograms,
    kept: KeptMaps,
    ration: MemoryLimit,
    making: Making,
    /// Changes by others, until the daemon asks for them.
    mending: TamperingLog,
    /// Descriptors of the `kept` maps and of the counters, for pinning them again if someone removes their
    /// pins.
    tables: Vec<(MapUse, MapData)>,
    counters: Option<MapData>,
    /// The ring for sampled drops. It exists from when a client watches until a judge without samples is
    /// published.
    ring: Option<MapData>,
    /// The hooks that judges are loaded for before anything is attached there.
    expected: Vec<Hook>,
    /// The programs that were loaded when the broker began.
    neighbours: LoadedPrograms,
    foreseen: Option<BackgroundJudge>,
    ready: Option<Judge>,
    published: Option<Judge>,
    /// Whether there were links when the broker began.
    found_at_work: bool,
    /// Whether all our pins are removed.
    is_gone: bool,
    /// Keeps other filterds from using these pins.
    lock: Lock,
}

impl BrokerServer {
    /// Opens the pins under `directory`. A filter that an earlier daemon left there keeps working until a new
    /// judge is published.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        version::check()?;
        let is_new = directory.symlink_metadata().is_err();
        let (pins, lock) = Pins::open(directory)?;
        let roots = counters::make_fit(&pins).and_then(|()| Roots::open(&pins)).inspect_err(|_| {
            // A failed start leaves nothing behind. If the removal fails as well, the returned error is the
            // one to report.
            if is_new {
                _ = pins.remove();
            }
        })?;
        let found_at_work = !pins.links().is_empty();
        let (links, kept) = (Links::default(), KeptMaps::behind(pins.latest_generation()));
        let mending = TamperingLog::of(pins.directory());
        let expected = pins.links().iter().filter_map(|path| link::hook_of_pin(path, &pins)).collect();
        Ok(Self {
            pins,
            roots,
            links,
            egress: Egress::default(),
            outbound: SentPrograms::new(SentWork::JudgeDestinations),
            connect: ConnectPrograms::default(),
            kept,
            ration: MemoryLimit::begin(memory::of_the_machine(), clock::instant()),
            making: Making::default(),
            mending,
            tables: Vec::new(),
            counters: None,
            ring: None,
            expected,
            neighbours: LoadedPrograms::look(),
            foreseen: None,
            ready: None,
            published: None,
            found_at_work,
            is_gone: false,
            lock,
        })
    }

    /// Describes the pins that the broker found.
    pub fn earlier(&self) -> EarlierPins {
        EarlierPins {
            latest_generation: self.pins.latest_generation(),
            blocked: self.pins.has_blocked(),
            attached: self.found_at_work,
            filters: self.pins.links().iter().any(|path| is_on_an_interface(path)),
        }
    }

    /// Carries out a request, then updates the memory count.
    pub fn serve(&mut self, request: Request) -> Result<(Reply, Option<OwnedFd>), KernelError> {
        let answer = self.carry_out(request);
        self.ration.count(self.kept.bytes(), clock::instant());
        answer
    }

    fn carry_out(&mut self, request: Request) -> Result<(Reply, Option<OwnedFd>), KernelError> {
        let answer = match request {
            Request::Make { map, generation, words } => {
                let name = MapUse { map, generation };
                self.check_make(name, words)?;
                let made = storage::create(map, words)?;
                self.kept.made(name, words);
                return Ok((Reply::Done, Some(self.hand_over(name, made)?)));
            }
            Request::Begin { map, generation, words } => {
                let name = MapUse { map, generation };
                self.check_make(name, words)?;
                // The map counts from now on, so that no more maps are begun than the limit allows.
                self.kept.made(name, words);
                self.making.begin(name, words);
                Reply::Done
            }
            Request::Collect { map, generation, waits } => {
                let name = MapUse { map, generation };
                return self.collect(name, waits);
            }
            Request::Discard { map, generation } => {
                self.discard(MapUse { map, generation })?;
                Reply::Done
            }
            Request::Foresee(blueprint) => self.foresee(blueprint)?,
            Request::Prepare(blueprint) => {
                self.prepare(blueprint)?;
                Reply::Done
            }
            Request::Publish => {
                self.publish()?;
                Reply::Done
            }
            Request::Attach { name, index, mode } => {
                must_be_a_name(&name)?;
                let interface = surroundings::interface(&name, index)?;
                self.give_counters(index, &name)?;
                if self.matches_new() {
                    // Attached before the filter, so that flows are known from the first filtered packet on.
                    self.egress.attach(&name, index, interface.framing, &self.pins);
                }
                let attached = self.attach(&interface, mode)?;
                if self.is_outbound() {
                    self.attach_outbound(&name, index, interface.framing)?;
                    self.mend_connect()?;
                }
                Reply::Attached(attached)
            }
            Request::Detach { interface } => {
                must_be_a_name(&interface)?;
                self.links.detach(&interface, &self.pins)?;
                self.egress.programs().detach(&interface, &self.pins)?;
                self.outbound.detach(&interface, &self.pins)?;
                self.end_lonely_connect()?;
                Reply::Done
            }
            Request::Adopt => {
                self.adopt()?;
                self.mend_connect()?;
                Reply::Done
            }
            Request::Expect(hooks) => {
                self.expected = hooks;
                Reply::Done
            }
            Request::Look => Reply::Links(self.look()),
            Request::Rename { from, to, formerly } => {
                [&from, &to].into_iter().chain(&formerly).try_for_each(|name| must_be_a_name(name))?;
                self.links.rename(&from, &to, formerly.as_deref(), &self.pins)?;
                self.egress.programs().rename(&from, &to, &self.pins)?;
                self.outbound.rename(&from, &to, &self.pins)?;
                if let Some(counters) = &self.counters {
                    slots::rename(&counters::window(counters)?, &from, &to);
                }
                Reply::Done
            }
            Request::Renew => Reply::Renewed(self.renew()?),
            Request::MendPins => {
                self.mend_pins()?;
                self.end_lonely_connect()?;
                Reply::Mended(self.mended())
            }
            Request::Samples => {
                self.check_bytes("samples", storage::RING.into())?;
                let ring = self.ring.insert(storage::create_ring()?);
                self.ration.made_aside(storage::RING.into());
                return Ok((Reply::Done, Some(mend::share(ring)?)));
            }
            Request::Ports => return Ok((Reply::Done, Some(self.egress.ports()?))),
            Request::Seed(keys) => {
                self.egress.seed(&keys, clock::at_last_tick())?;
                Reply::Done
            }
            Request::Count => Reply::Counted(counters::read(self.counters.as_ref(), &self.pins)?),
            Request::Rollback if self.found_at_work => Reply::Done,
            Request::Rollback | Request::Remove => {
                self.remove()?;
                Reply::Done
            }
        };
        Ok((answer, None))
    }

    fn check_make(&mut self, map: MapUse, words: u32) -> Result<(), KernelError> {
        self.kept.may_make(map, words)?;
        self.check_bytes(map.map.name(), u64::from(words) * 8)
    }

    fn check_bytes(&mut self, name: &str, bytes: u64) -> Result<(), KernelError> {
        self.ration.count(self.kept.bytes(), clock::instant());
        self.ration.may_make(name, bytes, memory::free_on_the_machine())
    }

    /// Gives an interface its own counters before its first packet is dropped.
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
        self.outbound.end(&self.pins)?;
        self.connect.end(&self.pins)?;
        link::release_all(&self.pins)?;
        let removed = self.pins.remove();
        // If the last reference to a link is a descriptor, the kernel detaches it at once; if it is a pin,
        // only later.
        self.links.forget();
        let left = removed.map_err(|error| KernelError::load("remove the pins", error))?;
        left.iter()
            .for_each(|path| tracing::warn!("{} is not filterd's and was left in place", path.display()));
        self.is_gone = true;
        Ok(())
    }

    /// True if the published judge checks own flows.
    fn matches_new(&self) -> bool {
        self.published.as_ref().is_some_and(Judge::matches_new)
    }

    /// True if the published judge blocks destinations.
    fn is_outbound(&self) -> bool {
        self.published.as_ref().is_some_and(Judge::is_outbound)
    }

    /// Detaches programs on sent frames that this judge does not need.
    fn end_unwanted_egress(&mut self, judge: &Judge) -> Result<(), KernelError> {
        if !judge.matches_new() {
            self.egress.end(&self.pins)?;
        }
        if judge.is_outbound() {
            return Ok(());
        }
        self.outbound.end(&self.pins)?;
        self.connect.end(&self.pins)
    }

    fn look(&mut self) -> Vec<Link> {
        let mut links = self.links.look(&self.pins);
        for link in &mut links {
            link.egress = self.egress.programs().why_not(&link.name);
            link.outbound = self.outbound.why_not(&link.name);
        }
        links
    }
}

/// Checks a name that becomes part of a path, because a hijacked daemon may have sent it.
fn must_be_a_name(interface: &str) -> Result<(), KernelError> {
    check_interface_name(interface).map_err(|error| KernelError::load("use an interface", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_names_cannot_leave_pin_directory() {
        assert!(must_be_a_name("eth0").is_ok());
        for path in ["../tables", "a/b", "..", "", "/etc/passwd"] {
            assert!(must_be_a_name(path).is_err(), "{path}");
        }
    }
}
