//! The tables in the kernel, as one thing: makes room, carries effects out, and changes the judge when it must.
//!
//! Room is made before anything is promised: `reserve` builds whatever table is too small anew beside the one in use, so
//! a lack of memory is told while nothing has changed. `carry_out` then only stores, and publishes what is new.

use std::path::Path;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::networks;
use filter_common::packet::Source;
use filter_common::target::{Prefix4, Prefix6, Target};
use filter_common::verdict::{Reason, Verdict, judge, judge_source};

use super::debug::Lines;
use super::judge::{Judge, NETWORKS, table_pins};
use super::needs::{Needs, Wanted};
use super::pins::Pins;
use super::root::Root;
use super::seen::Seen;
use super::shape::{Addresses, Kind, Shape, SixTable};
use super::store::Store;
use super::window::Window;
use super::{Attached, KernelError, Occupancy, counters, storage, version};
use crate::blocklist::Effects;
use crate::config::Mode;

/// The tables of one daemon, and everything of the kernel's that belongs to them.
pub struct Table {
    pins: Pins,
    root: Root,
    generation: u64,
    enforce: bool,
    addresses: Store<Addresses>,
    six: Store<SixTable>,
    networks: Option<(u64, Window)>,
    published: Option<Shape>,
    ready: Option<(Shape, Judge)>,
    lines: Option<Lines>,
}

impl Table {
    /// Opens the pins under `directory`, where a daemon before this one may have left a filter at work. That goes on
    /// until these tables have been filled and published.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        version::check()?;
        let pins = Pins::open(directory)?;
        Ok(Self {
            root: Root::open(&pins)?,
            generation: pins.latest_generation(),
            pins,
            enforce: true,
            addresses: Store::new(),
            six: Store::new(),
            networks: None,
            published: None,
            ready: None,
            lines: None,
        })
    }

    /// Attaches to an interface.
    pub async fn attach(&mut self, interface: &str, mode: Mode) -> Result<Attached, KernelError> {
        Attached::new(&mut self.root, interface, mode, &self.pins).await
    }

    /// Drop, or only count? Takes effect with the next `carry_out`.
    pub fn enforce(&mut self, enforce: bool) {
        self.enforce = enforce;
    }

    /// Makes room for `needs`; `wanted` is what is blocked now. Takes effect with the next `carry_out`; if it fails,
    /// nothing has changed.
    pub fn reserve(&mut self, needs: &Needs, wanted: &impl Wanted) -> Result<(), KernelError> {
        let made = self.make_room(needs, wanted).and_then(|()| self.prepare());
        if made.is_err() {
            self.addresses.discard();
            self.six.discard();
        }
        made
    }

    /// Carries effects out; packets are judged by them when this returns. `wanted` is what is blocked from then on.
    /// Whoever enters is in before anybody leaves: an address may be covered by one target first and by another then.
    pub fn carry_out(&mut self, effects: &Effects, wanted: &impl Wanted) -> Result<(), KernelError> {
        effects.entered.iter().try_for_each(|target| self.enter(target, wanted))?;
        self.publish()?;
        effects.left.iter().for_each(|target| self.leave(target, wanted));
        Ok(())
    }

    /// Does the next step for entries on the move. True if another is due after a grace period.
    pub fn settle(&mut self, wanted: &impl Wanted) -> Result<bool, KernelError> {
        let due = [self.addresses.advance(), self.six.advance()];
        if self.addresses.is_stuck() {
            self.enlarge_addresses(self.addresses.one_more())?;
        }
        if self.six.is_stuck() {
            self.enlarge_six(self.six.one_more(), wanted)?;
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
            self.enlarge_addresses(self.addresses.limit())?;
        }
        if self.six.is_unsettled() {
            self.enlarge_six(self.six.limit(), wanted)?;
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
    pub fn counters(&self) -> Result<Vec<(Reason, u64)>, KernelError> {
        counters::read(&self.pins)
    }

    /// How full the table of IPv4 addresses is.
    pub fn addresses(&self) -> Occupancy {
        self.addresses.occupancy()
    }

    /// How full the table of IPv6 prefixes is.
    pub fn six(&self) -> Occupancy {
        self.six.occupancy()
    }

    /// Kernel memory of the IPv4 prefixes, in bytes.
    pub fn networks_bytes(&self) -> u64 {
        self.networks.as_ref().map_or(0, |(_, window)| window.bytes())
    }

    /// Takes everything out of the kernel. Links must have been detached before.
    pub fn remove(&self) -> std::io::Result<()> {
        self.pins.remove()
    }

    fn make_room(&mut self, needs: &Needs, wanted: &impl Wanted) -> Result<(), KernelError> {
        if needs.addresses > self.addresses.limit() {
            self.enlarge_addresses(needs.addresses)?;
        }
        if needs.networks && self.networks.is_none() {
            let generation = self.next_generation();
            let window = storage::create(NETWORKS, networks::WORDS, &self.pins.table(NETWORKS, generation))?;
            self.networks = Some((generation, window));
        }
        if needs.six > self.six.limit() {
            self.enlarge_six(needs.six, wanted)?;
        }
        if let Some(table) = self.six.kind_mut() {
            table.lengths.extend(&needs.lengths);
        }
        Ok(())
    }

    fn enter(&mut self, target: Target, wanted: &impl Wanted) -> Result<(), KernelError> {
        match target {
            Target::V4(prefix) if is_network(prefix) => self.set_network(prefix, |_| true),
            Target::V4(prefix) => {
                return (prefix.first()..=prefix.last()).try_for_each(|address| self.enter_address(address));
            }
            Target::V6(prefix) => return self.enter_six(prefix, wanted),
        }
        Ok(())
    }

    fn leave(&mut self, target: Target, wanted: &impl Wanted) {
        match target {
            Target::V4(prefix) if is_network(prefix) => self.leave_network(prefix, wanted),
            Target::V4(prefix) => {
                let unwanted =
                    (prefix.first()..=prefix.last()).filter(|&address| !wanted.blocks_address(address));
                unwanted.for_each(|address| self.addresses.remove(address.into()));
            }
            Target::V6(prefix) => {
                if let Some(key) = self.six.kind().map(|table| table.key(prefix)) {
                    self.six.remove(key);
                }
            }
        }
    }

    /// Where there is neither a path nor room in the stash, the table is built anew, under another key.
    fn enter_address(&mut self, address: u32) -> Result<(), KernelError> {
        while self.addresses.add(address.into()).is_err() {
            self.enlarge_addresses(self.addresses.one_more())?;
        }
        Ok(())
    }

    fn enter_six(&mut self, prefix: Prefix6, wanted: &impl Wanted) -> Result<(), KernelError> {
        loop {
            let key = self.six.kind().map(|table| table.key(prefix));
            if key.is_some_and(|key| self.six.add(key).is_ok()) {
                return Ok(());
            }
            self.enlarge_six(self.six.one_more(), wanted)?;
        }
    }

    fn leave_network(&mut self, prefix: Prefix4, wanted: &impl Wanted) {
        if wanted.is_within_wider(prefix) {
            return;
        }
        let first = prefix.first() >> 8;
        let mut stays = vec![false; slash24s(prefix) as usize];
        for within in wanted.networks_within(prefix) {
            let at = ((within.first() >> 8) - first) as usize;
            stays[at..at + slash24s(within) as usize].fill(true);
        }
        self.set_network(prefix, |slash24| stays[(slash24 - first) as usize]);
    }

    fn set_network(&self, prefix: Prefix4, wanted: impl Fn(u32) -> bool) {
        if let Some((_, window)) = &self.networks {
            networks::set(window, prefix.first() >> 8, slash24s(prefix), wanted);
        }
    }

    /// Builds a table of IPv4 addresses for `entries` out of the one there is. The table alone suffices.
    fn enlarge_addresses(&mut self, entries: u64) -> Result<(), KernelError> {
        let held: Vec<u32> = self.addresses.newest_live().map_or_else(Vec::new, |live| {
            let table = live.table();
            let placed = table.entries().map(|home| table.scheme().key(home));
            placed.chain(live.unplaced()).map(|address| address as u32).collect()
        });
        let mut geometry = geometry_for::<Addresses>(entries)?;
        loop {
            let table = Addresses::new(self.next_generation(), geometry);
            self.addresses.build(table, &self.pins)?;
            if held.iter().all(|&address| self.addresses.add(address.into()).is_ok()) {
                return Ok(());
            }
            geometry = geometry_for::<Addresses>(geometry.limit() + 1)?;
        }
    }

    /// Builds a table of IPv6 prefixes for `entries` out of what is wanted: a fingerprint does not tell its prefix.
    fn enlarge_six(&mut self, entries: u64, wanted: &impl Wanted) -> Result<(), KernelError> {
        let mut geometry = geometry_for::<SixTable>(entries)?;
        let lengths = self.six.kind().map(|table| table.lengths.clone()).unwrap_or_default();
        loop {
            let table = SixTable::new(self.next_generation(), geometry, lengths.clone());
            let keys: Vec<_> = wanted.six().map(|prefix| table.key(prefix)).collect();
            self.six.build(table, &self.pins)?;
            if keys.into_iter().all(|key| self.six.add(key).is_ok()) {
                return Ok(());
            }
            geometry = geometry_for::<SixTable>(geometry.limit() + 1)?;
        }
    }

    /// Loads the judge for the tables as they now are, if it is not the one at work.
    fn prepare(&mut self) -> Result<(), KernelError> {
        let shape = self.shape();
        if self.published.as_ref() != Some(&shape)
            && self.ready.as_ref().is_none_or(|(ready, _)| *ready != shape)
        {
            let judge = Judge::load(&shape, &self.pins)?;
            self.ready = Some((shape, judge));
        }
        Ok(())
    }

    /// Lets packets meet the judge for the tables as they now are.
    fn publish(&mut self) -> Result<(), KernelError> {
        self.prepare()?;
        let Some((shape, judge)) = self.ready.take() else { return Ok(()) };
        if self.published.as_ref() == Some(&shape) {
            return Ok(());
        }
        self.root.publish(&judge)?;
        self.addresses.publish();
        self.six.publish();
        if let Err(error) = self.pins.keep_tables(&table_pins(&shape, &self.pins)) {
            tracing::warn!("cannot remove the pins of tables no longer in use: {error}");
        }
        self.published = Some(shape);
        self.lines = judge.into_lines();
        Ok(())
    }

    fn shape(&self) -> Shape {
        Shape {
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

/// Is it kept as bits, one a /24?
fn is_network(prefix: Prefix4) -> bool {
    prefix.length() <= 24
}

fn slash24s(prefix: Prefix4) -> u32 {
    1 << (24 - prefix.length())
}

fn geometry_for<K: Kind>(entries: u64) -> Result<Geometry, KernelError> {
    K::geometry_for(entries).ok_or_else(|| KernelError::TooMany { entries, most: K::most() })
}
