//! The tables in the kernel, as one thing: makes room, carries effects out, and changes the judge when it must.
//!
//! Room is made before anything is promised: `reserve` builds whatever table is too small anew beside the one in use, so
//! a lack of memory is told while nothing has changed. `apply` (in `effects`) then only stores, and publishes what is new.

mod effects;

use std::path::Path;

use filter_common::cuckoo::Full;
use filter_common::cuckoo::geometry::Geometry;
use filter_common::judge::{judge, judge_source};
use filter_common::networks;
use filter_common::packet::Source;
use filter_common::reason::{Reason, Verdict};

use super::broker::Broker;
use super::broker::request::{Answer, MapName, Request};
use super::growth::Growth;
use super::interface::Interface;
use super::moving::Moving;
use super::needs::{Needs, Wanted};
use super::seen::Seen;
use super::spec::{Addresses, JudgeSpec, Kind, SixTable};
use super::store::Store;
use super::window::Window;
use super::{Attached, KernelError, Occupancy};
use crate::config::Mode;

/// Tables for fewer addresses are rebuilt in a few milliseconds.
const WORTH_A_THREAD: u64 = 1 << 16;

/// The part of its limit by which a table may exceed it for a while: far below the first refusal at any geometry.
const MARGIN: u64 = 64;

/// The tables of one daemon, and everything of the kernel's that belongs to them.
pub struct Filter {
    broker: Broker,
    generation: u64,
    enforce: bool,
    addresses: Store<Addresses>,
    /// A larger table of addresses in the making.
    growth: Option<(Addresses, Growth)>,
    six: Store<SixTable>,
    networks: Option<(u64, Window)>,
    published: Option<JudgeSpec>,
    ready: Option<JudgeSpec>,
}

impl Filter {
    /// Opens the pins under `directory`, with the capabilities of this process.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        Broker::here(directory).map(Self::through)
    }

    /// Tables in a kernel that `broker` holds. A filter that an earlier daemon left at work goes on until these tables have
    /// been filled and published.
    pub fn through(broker: Broker) -> Self {
        Self {
            generation: broker.latest_generation(),
            broker,
            enforce: true,
            addresses: Store::new(),
            growth: None,
            six: Store::new(),
            networks: None,
            published: None,
            ready: None,
        }
    }

    /// Attaches to an interface.
    pub fn attach(&mut self, interface: Interface, mode: Mode) -> Result<Attached, KernelError> {
        match self.broker.ask(Request::Attach { interface, mode })? {
            (Answer::Attached(attached), _) => Ok(attached),
            _ => Err(KernelError::broker_gone("it mixed up its answers")),
        }
    }

    /// Takes the filter off an interface that was attached under this name.
    pub fn detach(&mut self, interface: &str) -> Result<(), KernelError> {
        self.broker.order(Request::Detach { interface: interface.to_owned() })
    }

    /// The number of the interface that was attached under this name, in whatever namespace it now is; none if it is gone.
    pub fn whereabouts(&mut self, interface: &str) -> Result<Option<u32>, KernelError> {
        match self.broker.ask(Request::Whereabouts { interface: interface.to_owned() })? {
            (Answer::Whereabouts(index), _) => Ok(index),
            _ => Err(KernelError::broker_gone("it mixed up its answers")),
        }
    }

    /// What is needed only to begin with is over: nothing but attaching and changing tables is to come.
    pub fn settle_in(&mut self) -> Result<(), KernelError> {
        self.broker.order(Request::DropPrivileges)
    }

    /// Drop, or only count? Takes effect with the next `apply`.
    pub fn enforce(&mut self, enforce: bool) {
        self.enforce = enforce;
    }

    /// Makes room for `needs`; `wanted` is what is blocked now. Takes effect with the next `apply`; if it fails,
    /// nothing has changed.
    pub fn reserve(&mut self, needs: &Needs, wanted: &impl Wanted) -> Result<(), KernelError> {
        let made = self.make_room(needs, wanted).and_then(|()| self.prepare());
        if made.is_err() {
            self.addresses.discard();
            self.six.discard();
        }
        made
    }

    /// Is there room for `needs` as the tables are?
    pub fn has_room(&self, needs: &Needs) -> bool {
        needs.addresses <= self.addresses.limit() && needs.six <= self.six.limit()
    }

    /// Are the tables much larger than `needs`?
    pub fn is_roomy_for(&self, needs: &Needs) -> bool {
        self.addresses.is_roomy_for(needs.addresses) || self.six.is_roomy_for(needs.six)
    }

    /// Builds those tables anew that are much larger than `needs`.
    pub fn shrink_to(&mut self, needs: &Needs, wanted: &impl Wanted) -> Result<(), KernelError> {
        if self.addresses.is_roomy_for(needs.addresses) {
            self.rebuild_addresses(needs.addresses)?;
        }
        if self.six.is_roomy_for(needs.six) {
            self.rebuild_six(needs.six, wanted)?;
        }
        self.publish()
    }

    /// Is a larger table being made aside?
    pub fn is_growing(&self) -> bool {
        self.growth.is_some()
    }

    /// Begins to make a table for so many addresses aside, if that takes longer than anybody should wait. True if one is
    /// in the making then.
    pub fn grow_aside(&mut self, entries: u64) -> Result<bool, KernelError> {
        if self.growth.is_some() {
            return Ok(true);
        }
        if self.addresses.has_fresh() || self.addresses.limit() < WORTH_A_THREAD {
            return Ok(false);
        }
        let kind = Addresses::new(self.next_generation(), geometry_for::<Addresses>(entries)?);
        let window = self.broker.make(MapName::Addresses, kind.generation, kind.words())?;
        let Some(live) = self.addresses.newest_live() else { return Ok(false) };
        let larger = Moving::new(kind.scheme(), kind.geometry, window, Addresses::HEAD);
        self.growth = Some((kind, Growth::begin(live, larger)));
        Ok(true)
    }

    /// Does the next step for entries on the move. True if another is due after a grace period.
    pub fn settle(&mut self, wanted: &impl Wanted) -> Result<bool, KernelError> {
        if self.growth.as_ref().is_some_and(|(_, growth)| growth.is_done()) {
            self.end_growth()?;
        }
        let due = [self.addresses.advance(), self.six.advance()];
        if self.addresses.is_stuck() {
            self.rebuild_addresses(self.addresses.one_more())?;
        }
        if self.six.is_stuck() {
            self.rebuild_six(self.six.one_more(), wanted)?;
        }
        self.publish()?;
        Ok(due.contains(&true))
    }

    /// Should those who add many entries wait for a grace period first? One entry never needs to.
    pub fn is_crowded(&self) -> bool {
        self.addresses.is_crowded() || self.six.is_crowded()
    }

    /// Gives entries on the move a table of their own, for kernels without grace periods.
    pub fn settle_anew(&mut self, wanted: &impl Wanted) -> Result<(), KernelError> {
        if self.addresses.is_unsettled() {
            self.rebuild_addresses(self.addresses.limit())?;
        }
        if self.six.is_unsettled() {
            self.rebuild_six(self.six.limit(), wanted)?;
        }
        self.publish()
    }

    /// What a packet from `source` meets right now: the program's own decision, made on the program's own tables.
    pub fn judge(&self, source: Source) -> Verdict {
        self.seen().map_or(Reason::Unlisted.verdict(), |seen| judge_source(source, &seen))
    }

    /// The same for a whole frame.
    pub fn judge_frame(&self, frame: &[u8]) -> Verdict {
        self.seen().map_or(Reason::Unlisted.verdict(), |seen| judge(frame, &seen))
    }

    fn seen(&self) -> Option<Seen<'_>> {
        let networks = self.networks.as_ref().map(|(_, window)| window);
        Some(Seen::new(self.published.as_ref()?, self.addresses.words(), networks, self.six.words()))
    }

    /// Packets by reason, since the filter was first attached.
    pub fn counters(&mut self) -> Result<Vec<(Reason, u64)>, KernelError> {
        match self.broker.ask(Request::Count)? {
            (Answer::Counted(packets), _) => Ok(Reason::ALL.into_iter().zip(packets).collect()),
            _ => Err(KernelError::broker_gone("it mixed up its answers")),
        }
    }

    /// How full the table of IPv4 addresses is.
    pub fn addresses(&self) -> Occupancy {
        self.addresses.occupancy()
    }

    /// How many IPv4 addresses have moved within their table since packets have been reading it.
    pub fn moves(&self) -> u64 {
        self.addresses.moves()
    }

    /// How full the table of IPv6 prefixes is.
    pub fn six(&self) -> Occupancy {
        self.six.occupancy()
    }

    /// Kernel memory of the IPv4 prefixes, in bytes.
    pub fn networks_bytes(&self) -> u64 {
        self.networks.as_ref().map_or(0, |(_, window)| window.bytes())
    }

    /// Takes everything out of the kernel, unless an earlier daemon's filter was found at work: that goes on.
    pub fn give_up(&mut self) -> Result<(), KernelError> {
        self.broker.order(Request::Rollback)
    }

    /// Takes the filter off every interface, and everything out of the kernel.
    pub fn remove(&mut self) -> Result<(), KernelError> {
        self.broker.order(Request::Remove)
    }

    fn make_room(&mut self, needs: &Needs, wanted: &impl Wanted) -> Result<(), KernelError> {
        if needs.addresses > self.addresses.limit() {
            self.make_room_for_addresses(needs.addresses)?;
        }
        if needs.networks && self.networks.is_none() {
            let generation = self.next_generation();
            let window = self.broker.make(MapName::Networks, generation, networks::WORDS)?;
            self.networks = Some((generation, window));
        }
        if needs.six > self.six.limit() {
            self.rebuild_six(needs.six, wanted)?;
        }
        if let Some(table) = self.six.kind_mut() {
            table.lengths.extend(&needs.lengths);
        }
        Ok(())
    }

    /// A few more than the limit may come in while a larger table is made aside. For more the larger one is waited for.
    fn make_room_for_addresses(&mut self, entries: u64) -> Result<(), KernelError> {
        let limit = self.addresses.limit();
        if entries <= limit + limit / MARGIN && self.grow_aside(limit + 1)? {
            return Ok(());
        }
        self.end_growth()?;
        if entries > self.addresses.limit() { self.rebuild_addresses(entries) } else { Ok(()) }
    }

    /// Puts the larger table beside the one in use, if one is in the making.
    fn end_growth(&mut self) -> Result<(), KernelError> {
        let Some((kind, growth)) = self.growth.take() else { return Ok(()) };
        match growth.finish() {
            Ok(live) => self.addresses.put(kind, live),
            Err(Full) => self.rebuild_addresses(kind.geometry.limit() + 1)?,
        }
        Ok(())
    }

    /// Builds a table of IPv4 addresses for `entries` out of the one there is. The table alone suffices.
    fn rebuild_addresses(&mut self, entries: u64) -> Result<(), KernelError> {
        self.growth = None;
        let held: Vec<u32> = self.addresses.newest_live().map_or_else(Vec::new, |live| {
            let table = live.table();
            let placed = table.entries().map(|home| table.scheme().key(home));
            placed.chain(live.unplaced()).map(|address| address as u32).collect()
        });
        let mut geometry = geometry_for::<Addresses>(entries)?;
        loop {
            let table = Addresses::new(self.next_generation(), geometry);
            self.addresses.build(table, &mut self.broker)?;
            if self.addresses.fill_all(held.iter().map(|&address| address.into())).is_empty() {
                return Ok(());
            }
            geometry = geometry_for::<Addresses>(geometry.limit() + 1)?;
        }
    }

    /// Builds a table of IPv6 prefixes for `entries` out of what is wanted: a fingerprint does not tell its prefix.
    fn rebuild_six(&mut self, entries: u64, wanted: &impl Wanted) -> Result<(), KernelError> {
        let mut geometry = geometry_for::<SixTable>(entries)?;
        let lengths = self.six.kind().map(|table| table.lengths.clone()).unwrap_or_default();
        loop {
            let table = SixTable::new(self.next_generation(), geometry, lengths.clone());
            let keys: Vec<_> = wanted.six().map(|prefix| table.key(prefix)).collect();
            self.six.build(table, &mut self.broker)?;
            if keys.into_iter().all(|key| self.six.contains(key) || self.six.add(key).is_ok()) {
                return Ok(());
            }
            geometry = geometry_for::<SixTable>(geometry.limit() + 1)?;
        }
    }

    /// Loads the judge for the tables as they now are, if it is not the one at work.
    fn prepare(&mut self) -> Result<(), KernelError> {
        let spec = self.spec();
        if self.published.as_ref() != Some(&spec) && self.ready.as_ref() != Some(&spec) {
            self.broker.order(Request::Prepare(spec.blueprint()))?;
            self.ready = Some(spec);
        }
        Ok(())
    }

    /// Lets packets meet the judge for the tables as they now are.
    fn publish(&mut self) -> Result<(), KernelError> {
        self.prepare()?;
        let Some(spec) = self.ready.take().filter(|ready| self.published.as_ref() != Some(ready)) else {
            return Ok(());
        };
        self.broker.order(Request::Publish)?;
        if self.addresses.publish() {
            tell("ipv4 addresses", self.addresses.occupancy());
        }
        if self.six.publish() {
            tell("ipv6", self.six.occupancy());
        }
        self.published = Some(spec);
        Ok(())
    }

    fn spec(&self) -> JudgeSpec {
        JudgeSpec {
            enforce: self.enforce,
            networks: self.networks.as_ref().map(|(generation, _)| *generation),
            addresses: self.addresses.kind().copied(),
            six: self.six.kind().cloned(),
        }
    }

    fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }
}

fn tell(name: &str, occupancy: Occupancy) {
    let Occupancy { entries, capacity, bytes } = occupancy;
    tracing::info!(
        "{name}: new table with room for {capacity} entries ({} KiB), {entries} in it",
        bytes / 1024
    );
}

fn geometry_for<K: Kind>(entries: u64) -> Result<Geometry, KernelError> {
    K::geometry_for(entries).ok_or_else(|| KernelError::TooMany { entries, most: K::most() })
}
