//! Assigns the slots of the counters to interfaces. The assignment is stored in the map itself, so it
//! outlives the daemon.
//!
//! A slot belongs to an interface's name and index. Before another interface gets the slot, its counts are
//! added to those of removed interfaces. The sum over all slots therefore stays the number of all drops.

use filter_common::counters::{ENTRY, GONE, NUMBERED, OTHER};
use filter_common::{Words, WordsMut};

use super::{directory, empty, numbers};
use crate::clock;

/// The directory's entry for a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotOwner {
    pub index: u32,
    pub name: String,
}

/// The length of the longest interface name with its final zero: two words.
const NAME: usize = 16;

/// Stores the start of counting. It takes the place of the directory's unused entry for the slot of all
/// others.
pub fn begin(counters: &impl WordsMut) {
    counters.store(directory(), clock::since_1970().as_secs());
}

/// The start of counting, in seconds since 1970.
pub fn since(counters: &impl Words) -> u64 {
    counters.load(directory())
}

/// Every slot that belongs to an interface.
pub fn all(counters: &impl Words) -> Vec<(u32, SlotOwner)> {
    own().filter_map(|slot| Some((slot, entry(counters, slot)?))).collect()
}

/// Gives this interface a slot of its own, if one is available. Interfaces in `attached` keep theirs.
pub fn give(counters: &impl WordsMut, index: u32, name: &str, attached: &[u32]) {
    let wanted = SlotOwner { index, name: name.to_owned() };
    let all = all(counters);
    if index >= NUMBERED || all.iter().any(|(_, entry)| *entry == wanted) {
        return;
    }
    // In this order: its former slot, a free slot, the slot of an interface that is no longer filtered.
    let of_name = all.iter().find(|(_, entry)| entry.name == name).map(|(slot, _)| *slot);
    let of_number = all.iter().find(|(_, entry)| entry.index == index).map(|(slot, _)| *slot);
    let nobodys = || own().find(|slot| all.iter().all(|(taken, _)| taken != slot));
    let left = || all.iter().find(|(_, entry)| !attached.contains(&entry.index)).map(|(slot, _)| *slot);
    // The index may have belonged to another interface, so its old counts are moved away.
    for slot in [of_name, of_number].into_iter().flatten() {
        release(counters, slot);
    }
    let Some(slot) = of_name.or(of_number).or_else(nobodys).or_else(left) else { return };
    release(counters, slot);
    write(counters, slot, &wanted);
    number(counters, index, slot);
}

/// Renames an interface. If the other name is in use, the two interfaces exchange their names.
pub fn rename(counters: &impl WordsMut, from: &str, to: &str) {
    for (slot, SlotOwner { index, name }) in all(counters) {
        let renamed = if name == from { to } else { from };
        if name == from || name == to {
            write(counters, slot, &SlotOwner { index, name: renamed.to_owned() });
        }
    }
}

fn release(counters: &impl WordsMut, slot: u32) {
    if let Some(entry) = entry(counters, slot) {
        number(counters, entry.index, OTHER);
    }
    empty(counters, slot);
    (0..ENTRY).for_each(|word| counters.store(at(slot) + word, 0));
}

/// The slots that interfaces can own.
fn own() -> std::ops::Range<u32> {
    OTHER + 1..GONE
}

fn entry(counters: &impl Words, slot: u32) -> Option<SlotOwner> {
    let index = u32::try_from(counters.load(at(slot))).ok().filter(|index| *index > 0)?;
    let bytes: Vec<u8> =
        [1, 2].iter().flat_map(|word| counters.load(at(slot) + word).to_le_bytes()).collect();
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(SlotOwner { index, name: String::from_utf8_lossy(name).into_owned() })
}

fn write(counters: &impl WordsMut, slot: u32, entry: &SlotOwner) {
    let mut name = [0; NAME];
    name.iter_mut().zip(entry.name.bytes()).for_each(|(byte, letter)| *byte = letter);
    for (word, bytes) in name.chunks_exact(8).enumerate() {
        let bytes = bytes.try_into().unwrap_or_default();
        counters.store(at(slot) + 1 + word as u32, u64::from_le_bytes(bytes));
    }
    counters.store(at(slot), entry.index.into());
}

fn at(slot: u32) -> u32 {
    directory() + slot * ENTRY
}

/// Sets the byte in which the judge finds the slot of an interface.
fn number(counters: &impl WordsMut, index: u32, slot: u32) {
    if index < NUMBERED {
        let word = numbers() + index / 8;
        let mut bytes = counters.load(word).to_ne_bytes();
        bytes[index as usize % 8] = slot as u8;
        counters.store(word, u64::from_ne_bytes(bytes));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use filter_common::counters::place;

    use super::super::{InterfaceDrops, counts, drops, words};
    use super::*;

    struct Memory(RefCell<Vec<u64>>);

    impl Words for Memory {
        fn load(&self, index: u32) -> u64 {
            self.0.borrow()[index as usize]
        }
    }

    impl WordsMut for Memory {
        fn store(&self, index: u32, word: u64) {
            self.0.borrow_mut()[index as usize] = word;
        }
    }

    impl Memory {
        fn new() -> Self {
            Self(RefCell::new(vec![0; words() as usize]))
        }

        fn slot_of(&self, index: u32) -> u32 {
            u32::from(self.load(numbers() + index / 8).to_ne_bytes()[index as usize % 8])
        }

        /// Counts as the judge does on the first processor.
        fn drop_on(&self, index: u32, packets: u64) {
            let at = place(self.slot_of(index), drops().next().unwrap());
            self.store(at, self.load(at) + packets);
            self.store(at + 1, self.load(at + 1) + packets * 60);
        }

        /// Names and packets of the first kind of drop.
        fn told(&self) -> Vec<(String, u64)> {
            let counted = counts(self);
            let sum: u64 = counted.packets.iter().sum();
            assert_eq!(counted.interfaces.iter().map(|one| one.counts[0][0]).sum::<u64>(), sum);
            let name =
                |one: &InterfaceDrops| one.interface.clone().map_or_else(String::new, |(_, name)| name);
            counted.interfaces.iter().map(|one| (name(one), one.counts[0][0])).collect()
        }
    }

    fn told(rows: &[(&str, u64)]) -> Vec<(String, u64)> {
        rows.iter().map(|(name, packets)| ((*name).to_owned(), *packets)).collect()
    }

    #[test]
    fn interfaces_count_separately_and_sum_stays() {
        let counters = Memory::new();
        begin(&counters);
        assert!(counts(&counters).since > 0);
        give(&counters, 2, "eth0", &[]);
        give(&counters, 3, "eth1", &[2]);
        counters.drop_on(2, 5);
        counters.drop_on(3, 7);
        counters.drop_on(9, 1);
        assert_eq!(counters.told(), told(&[("eth0", 5), ("eth1", 7), ("", 1)]));
        // The same call again, as a later filterd makes it.
        give(&counters, 2, "eth0", &[2, 3]);
        assert_eq!(counters.told(), told(&[("eth0", 5), ("eth1", 7), ("", 1)]));
        rename(&counters, "eth0", "lan0");
        assert_eq!(counters.told(), told(&[("lan0", 5), ("eth1", 7), ("", 1)]));
        rename(&counters, "lan0", "eth1");
        assert_eq!(counters.told(), told(&[("eth1", 5), ("lan0", 7), ("", 1)]));
    }

    #[test]
    fn changed_name_or_index_restarts_counts() {
        let counters = Memory::new();
        give(&counters, 2, "eth0", &[]);
        counters.drop_on(2, 5);
        give(&counters, 8, "eth0", &[]);
        assert_eq!((counters.slot_of(2), counters.told()), (OTHER, told(&[("eth0", 0), ("", 5)])));
        counters.drop_on(8, 3);
        give(&counters, 8, "eth7", &[]);
        assert_eq!(counters.told(), told(&[("eth7", 0), ("", 8)]));
    }

    #[test]
    fn detached_interfaces_give_up_slots_when_full() {
        let counters = Memory::new();
        let attached: Vec<u32> = own().map(|slot| slot + 100).collect();
        attached.iter().for_each(|index| give(&counters, *index, &format!("v{index}"), &attached));
        counters.drop_on(101, 4);
        give(&counters, 7, "late", &attached);
        counters.drop_on(7, 1);
        assert_eq!((counters.slot_of(7), counters.slot_of(101)), (OTHER, 1));
        give(&counters, 7, "late", &attached[1..]);
        counters.drop_on(7, 2);
        let all = counters.told();
        assert!(all.contains(&("late".to_owned(), 2)) && all.contains(&(String::new(), 5)), "{all:?}");
        give(&counters, NUMBERED + 1, "far", &[]);
        assert!(!counters.told().iter().any(|(name, _)| name == "far"));
    }
}
