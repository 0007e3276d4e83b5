//! IPv6 prefixes in the kernel, without a daemon: they come and go by its own code, and what is wanted is told plainly beside.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use aya::maps::MapData;
use filter_common::stash::{self, Stash};
use filter_common::target::{Prefix6, Target};
use filterd::blocklist::{Blocklist, Change, Polarity, ReleaseFrom, Timestamp, Want};
use filterd::daemon::commit::Protection;
use filterd::kernel::hook::Hook;
use filterd::kernel::window::Window;
use filterd::kernel::{Filter, Occupancy};

/// Nothing here ever ends by itself.
const NOW: Timestamp = Timestamp::from_secs(1);

/// Prefixes, and the tables that block them.
pub struct Blocked6 {
    pub protection: Protection,
    pub wanted: BTreeSet<Prefix6>,
}

impl Blocked6 {
    /// Tables under these pins with these in them.
    pub fn blocking(pins: &Path, prefixes: impl IntoIterator<Item = Prefix6>) -> Self {
        let wanted: BTreeSet<Prefix6> = prefixes.into_iter().collect();
        let mut blocklist = Blocklist::default();
        blocklist.apply(&want(wanted.iter().copied()), NOW).expect("there is room for a list");
        let mut filter = Filter::open(pins).expect("root may load programs");
        filter.expect(&[Hook::Xdp, Hook::Tc]).expect("the broker is here");
        Self { protection: Protection::begin(blocklist, filter).expect("there is memory"), wanted }
    }

    /// Lets prefixes in.
    pub fn add(&mut self, prefixes: impl IntoIterator<Item = Prefix6>) {
        let prefixes: Vec<Prefix6> = prefixes.into_iter().collect();
        self.wanted.extend(&prefixes);
        self.commit(&want(prefixes));
    }

    /// Takes prefixes out.
    pub fn remove(&mut self, prefixes: impl IntoIterator<Item = Prefix6>) {
        let prefixes: Vec<Prefix6> = prefixes.into_iter().collect();
        prefixes.iter().for_each(|prefix| _ = self.wanted.remove(prefix));
        let from = ReleaseFrom::List(LIST.into());
        self.commit(&Change::Release { from, targets: prefixes.into_iter().map(Target::V6).collect() });
    }

    /// Does the next step for those on the move. True if another is due after a grace period.
    pub fn settle(&mut self) -> bool {
        let (filter, blocklist) = self.protection.parts();
        filter.settle(blocklist).expect("there is memory")
    }

    /// How full the table is, of those whom the levels do not tell.
    pub fn table(&self) -> Occupancy {
        self.protection.filter().six()
    }

    fn commit(&mut self, change: &Change) {
        self.protection.commit(change, NOW).expect("there is memory");
        self.protection.take_records();
    }
}

/// How many wait in the stash of the table under these pins.
pub fn stashed(pins: &Path) -> u64 {
    let mut tables = fs::read_dir(pins.join("tables")).expect("tables are pinned").flatten();
    let is_six = |name: &str| name.starts_with("six-");
    let table = tables.find(|pin| pin.file_name().to_str().is_some_and(is_six)).expect("it is pinned");
    let map = MapData::from_pin(table.path()).expect("it is a map");
    let words = Window::open(map.fd(), stash::WORDS).expect("its beginning can be mapped");
    Stash::new(&words).count()
}

const LIST: &str = "manual";

fn want(prefixes: impl IntoIterator<Item = Prefix6>) -> Change {
    let targets = prefixes.into_iter().map(Target::V6).collect();
    Change::Want(Want::live(LIST, Polarity::Block, targets))
}
