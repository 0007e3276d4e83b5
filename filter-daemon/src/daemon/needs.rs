//! How much room a blocklist takes in the tables, and what the tables may ask of it.

use filter_common::target::{Prefix4, Prefix6, Target};

use crate::blocklist::Blocklist;
use crate::kernel::{Needs, Wanted};

/// What `blocklist` needs once `more` have entered it; those it has already are not counted twice.
pub fn with(blocklist: &Blocklist, more: impl Iterator<Item = Target>) -> Needs {
    let mut needs = of(blocklist);
    more.filter(|target| !blocklist.contains(*target)).for_each(|target| add(&mut needs, target, 1));
    needs
}

fn of(blocklist: &Blocklist) -> Needs {
    let mut needs = Needs { addresses: blocklist.address_count(), ..Needs::default() };
    for (length, count) in blocklist.lengths4() {
        add_length4(&mut needs, length, count);
    }
    for (length, count) in blocklist.lengths6() {
        add_length6(&mut needs, length, count);
    }
    needs
}

fn add(needs: &mut Needs, target: Target, count: u64) {
    match target {
        Target::V4(prefix) => add_length4(needs, prefix.length(), count),
        Target::V6(prefix) => add_length6(needs, prefix.length(), count),
    }
}

fn add_length4(needs: &mut Needs, length: u8, count: u64) {
    if length <= 24 {
        needs.networks = true;
    } else {
        needs.addresses += count << (32 - length);
    }
}

fn add_length6(needs: &mut Needs, length: u8, count: u64) {
    needs.six += count;
    needs.lengths.insert(length);
}

impl Wanted for Blocklist {
    fn blocks_address(&self, address: u32) -> bool {
        self.blocks_address(address)
    }

    fn is_within_wider(&self, prefix: Prefix4) -> bool {
        self.is_within_wider(prefix)
    }

    fn networks_within(&self, prefix: Prefix4) -> impl Iterator<Item = Prefix4> {
        self.networks_within(prefix)
    }

    fn six(&self) -> impl Iterator<Item = Prefix6> {
        self.six()
    }
}
