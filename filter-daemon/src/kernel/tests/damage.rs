//! Tests that changes by others to the tables are detected, and that the tables are then rebuilt.

use filter_common::packet::Source;
use filter_common::reason::Verdict;
use filter_common::target::Target;

use super::memory::KernelInMemory;
use super::world::{at, nothing, want};
use crate::blocklist::{Change, Polarity, Want};
use crate::daemon::commit::Protection;
use crate::kernel::Filter;
use crate::kernel::broker::request::MapPart;

/// A target for each part of the tables.
const LISTED: [(&str, MapPart); 4] = [
    ("203.0.113.7", MapPart::Addresses),
    ("198.51.100.0/24", MapPart::Networks),
    ("2001:db8::/32", MapPart::Levels),
    ("2001:db9:0:1::/64", MapPart::Six),
];

struct Machine {
    kernel: KernelInMemory,
    protection: Protection,
}

impl Machine {
    fn new() -> Self {
        let kernel = KernelInMemory::default();
        let mut protection = Protection::begin(nothing(), Filter::through(kernel.broker())).unwrap();
        let listed = LISTED.iter().map(|(target, _)| target.parse().unwrap()).collect();
        protection.commit(&want(listed), at(1)).unwrap();
        // A blocked prefix that covers an allowed address sets the overlap word.
        let covering = ["192.0.2.0/25".parse().unwrap()].into_iter().collect();
        protection.commit(&want(covering), at(1)).unwrap();
        let allowed = ["192.0.2.1".parse().unwrap()].into_iter().collect();
        let allow = Change::Want(Want::live("allowed", Polarity::Allow, allowed));
        protection.commit(&allow, at(1)).unwrap();
        Self { kernel, protection }
    }

    fn is_dropped(&self, source: &str) -> bool {
        let source = match source.parse().unwrap() {
            Target::V4(prefix) => Source::V4(prefix.first()),
            Target::V6(prefix) => Source::V6(prefix.first().into()),
        };
        matches!(self.kernel.judge(source), Verdict::Drop(_))
    }

    /// Asserts that the damage is found at one check, and that the rebuilt tables are correct.
    fn mends(&mut self) {
        let damage = self.protection.damage(0).expect("somebody has changed the tables");
        self.protection.make_anew().unwrap();
        assert_eq!(self.protection.damage(0), None, "{damage}");
        assert!(LISTED.iter().all(|(target, _)| self.is_dropped(target)), "{damage}");
        assert!(self.is_dropped("192.0.2.2") && !self.is_dropped("192.0.2.1"), "{damage}");
        let (mut pinned, mut used) = self.kernel.pins();
        pinned.sort();
        used.sort();
        assert_eq!(pinned, used, "{damage}");
    }
}

#[test]
fn emptied_tables_are_detected_and_rebuilt() {
    let mut machine = Machine::new();
    assert_eq!(machine.protection.damage(0), None);
    for (target, part) in LISTED {
        machine.kernel.overwrite(part, 0);
        assert!(!machine.is_dropped(target));
        machine.mends();
    }
}

#[test]
fn changed_overlap_word_is_detected() {
    let mut machine = Machine::new();
    machine.kernel.overwrite(MapPart::Overlap, 0);
    assert!(machine.is_dropped("192.0.2.1"));
    machine.mends();
}

#[test]
fn foreign_entries_are_removed() {
    let mut machine = Machine::new();
    machine.kernel.overwrite(MapPart::Networks, u64::MAX);
    // Listed targets are still found, so the change is detected by the stash of the other table.
    machine.kernel.overwrite(MapPart::Addresses, u64::MAX);
    assert!(machine.is_dropped("8.8.8.8"));
    machine.mends();
    assert!(!machine.is_dropped("8.8.8.8"));
}
