//! filterd's programs and tables in the kernel, without a daemon: addresses come and go by its own code.

use std::collections::HashSet;
use std::path::Path;

use filter_common::ports::Clause;
use filter_common::sets::{SLOTS, SetName};
use filter_common::target::{Prefix4, Prefix6, Target};
use filterd::blocklist::Effects;
use filterd::kernel::hook::Hook;
use filterd::kernel::{
    Filter, LabelSource, Needs, Occupancy, SetNeeds, SixTargets, Truth, WantedTargets, grace,
};

/// Addresses, and the table that blocks them.
pub struct Blocked {
    pub tables: Filter,
    listed: Listed,
}

#[derive(Default)]
struct Listed {
    blocked: Addresses,
    /// Nothing.
    allowed: Addresses,
}

#[derive(Default)]
struct Addresses(HashSet<u32>);

impl Blocked {
    /// Tables under these pins, with room for so many and with these in them.
    pub fn blocking(pins: &Path, room: u64, addresses: impl IntoIterator<Item = u32>) -> Self {
        let mut filter = Filter::open(pins).expect("root may load programs");
        filter.expect(&[Hook::Xdp, Hook::Tc]).expect("the broker is here");
        let mut blocked = Self { tables: filter, listed: Listed::default() };
        blocked.reserve(room);
        blocked.add(addresses);
        blocked
    }

    /// Lets addresses in that are not there.
    pub fn add(&mut self, addresses: impl IntoIterator<Item = u32>) {
        let addresses: Vec<u32> = addresses.into_iter().collect();
        self.listed.blocked.0.extend(&addresses);
        let effects = Effects::blocking(addresses.into_iter().map(host).collect());
        self.reserve(self.listed.blocked.0.len() as u64);
        self.tables.apply(&effects, &self.listed).expect("there is room");
    }

    /// Takes one out.
    pub fn remove(&mut self, address: u32) {
        self.listed.blocked.0.remove(&address);
        let effects = Effects::unblocking([host(address)].into_iter().collect());
        self.tables.apply(&effects, &self.listed).expect("nothing is asked for");
    }

    /// Does the next step for those on the move. True if another is due after a grace period.
    pub fn settle(&mut self) -> bool {
        self.tables.settle(&self.listed).expect("there is memory")
    }

    /// Lets everyone who waits in the stash find a place.
    pub fn settle_all(&mut self) {
        while self.settle() {
            grace::wait().expect("this kernel has grace periods");
        }
    }

    /// How full its table is.
    pub fn occupancy(&self) -> Occupancy {
        self.tables.addresses()
    }

    fn reserve(&mut self, addresses: u64) {
        let needs = Needs::from(SetNeeds { addresses, ..SetNeeds::default() });
        self.tables.reserve(&needs, &self.listed).expect("there is memory");
    }
}

impl Truth for Listed {
    fn of(&self, set: SetName) -> &impl WantedTargets {
        if set == SetName::Block { &self.blocked } else { &self.allowed }
    }

    fn clauses(&self) -> &[Option<Clause>; SLOTS] {
        &[None; SLOTS]
    }
}

impl WantedTargets for Addresses {
    fn has_address(&self, address: u32) -> bool {
        self.0.contains(&address)
    }

    fn has_long_prefixes(&self) -> bool {
        false
    }

    fn is_within_wider(&self, _prefix: Prefix4) -> bool {
        false
    }

    fn networks_within(&self, _prefix: Prefix4) -> impl Iterator<Item = Prefix4> {
        std::iter::empty()
    }

    fn covers_six(&self, _prefix: Prefix6, _shortest: u8) -> bool {
        false
    }

    fn has_six_within(&self, _prefix: Prefix6) -> bool {
        false
    }

    fn wants_six(&self, _prefix: Prefix6) -> bool {
        false
    }
}

impl LabelSource for Addresses {}

impl SixTargets for Addresses {
    fn six_after(&self, _after: Option<Prefix6>) -> impl Iterator<Item = Prefix6> {
        std::iter::empty()
    }
}

fn host(address: u32) -> Target {
    Prefix4::host(address).into()
}
