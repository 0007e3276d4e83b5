//! The tree of bits. Each node has two records: for addresses that go on with 0, and with 1.

use filter_common::target::{Prefix, Prefix4, Prefix6};

use super::value::Damage;

/// The tree of a file.
#[derive(Debug)]
pub struct Tree<'a> {
    nodes: &'a [u8],
    count: usize,
    record_bits: usize,
    is_four: bool,
}

/// A network that has a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// IPv4, wherever in the tree it lies.
    V4(Prefix4),
    /// IPv6.
    V6(Prefix6),
}

/// A place on the way down.
#[derive(Clone, Copy)]
struct Place {
    record: usize,
    address: u128,
    depth: u8,
}

/// Where IPv4 lies in a tree of IPv6: below `::/96`, and, in some, below `::ffff:0:0/96`.
const FOUR: u8 = 96;
const MAPPED: u128 = 0xffff;

impl<'a> Tree<'a> {
    /// The tree at the beginning of the file, and how many bytes it has.
    pub fn new(
        bytes: &'a [u8],
        count: Option<u64>,
        record_bits: Option<u64>,
        version: Option<u64>,
    ) -> Result<(Self, usize), Damage> {
        let count = count.and_then(|count| u32::try_from(count).ok());
        let count = count.ok_or(Damage("it does not say how large its tree is"))? as usize;
        let record_bits = match record_bits {
            Some(24) => 24,
            Some(28) => 28,
            Some(32) => 32,
            _ => return Err(Damage("the records of its tree have another size than 24, 28 or 32 bits")),
        };
        let is_four = match version {
            Some(4) => true,
            Some(6) => false,
            _ => return Err(Damage("it has neither IPv4 nor IPv6")),
        };
        let length = count.checked_mul(record_bits / 4);
        let nodes =
            length.and_then(|length| bytes.get(..length)).ok_or(Damage("it ends before its tree does"))?;
        Ok((Self { nodes, count, record_bits, is_four }, nodes.len()))
    }

    /// Every network once, with its record, counted from the end of the tree; until `found` has enough.
    pub fn walk(&self, mut found: impl FnMut(Leaf, usize) -> Result<bool, Damage>) -> Result<(), Damage> {
        let longest = if self.is_four { 32 } else { 128 };
        let four = self.four();
        // Every node but the one of IPv4 has one way that leads to it.
        let mut visits = self.count.saturating_mul(2).saturating_add(256);
        let mut ahead = vec![Place { record: 0, address: 0, depth: 0 }];
        while let Some(place) = ahead.pop() {
            if place.record == self.count || self.is_alias(place, four) {
                continue;
            }
            if place.record > self.count {
                if !found(self.leaf(place), place.record - self.count)? {
                    return Ok(());
                }
                continue;
            }
            visits = visits.checked_sub(1).ok_or(Damage("its tree leads back to itself"))?;
            if place.depth == longest {
                return Err(Damage("its tree is deeper than an address has bits"));
            }
            let bit = 1 << (longest - 1 - place.depth);
            let depth = place.depth + 1;
            let [left, right] = self.records(place.record);
            ahead.push(Place { record: right, address: place.address | bit, depth });
            ahead.push(Place { record: left, address: place.address, depth });
        }
        Ok(())
    }

    /// The node of IPv4 in a tree of IPv6. Others lead there, too: 6to4 and Teredo, which hold the same networks again.
    fn four(&self) -> Option<usize> {
        let mut record = 0;
        for _ in 0..FOUR {
            record = (record < self.count).then(|| self.records(record)[0])?;
        }
        (!self.is_four && record < self.count).then_some(record)
    }

    fn is_alias(&self, place: Place, four: Option<usize>) -> bool {
        Some(place.record) == four && (place.depth, place.address) != (FOUR, 0)
    }

    fn leaf(&self, Place { address, depth, .. }: Place) -> Leaf {
        let low = address as u32;
        if self.is_four {
            Leaf::V4(Prefix::covering(low, depth))
        } else if depth >= FOUR && matches!(address >> 32, 0 | MAPPED) {
            Leaf::V4(Prefix::covering(low, depth - FOUR))
        } else {
            Leaf::V6(Prefix::covering(address, depth))
        }
    }

    /// Both records of a node that there is.
    fn records(&self, node: usize) -> [usize; 2] {
        let length = self.record_bits / 4;
        let bytes = &self.nodes[node * length..][..length];
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | usize::from(*byte));
        match self.record_bits {
            // The byte in the middle has the highest bits of both.
            28 => {
                let middle = usize::from(bytes[3]);
                [(middle >> 4) << 24 | word(&bytes[..3]), (middle & 0xf) << 24 | word(&bytes[4..])]
            }
            bits => [word(&bytes[..bits / 8]), word(&bytes[bits / 8..])],
        }
    }
}
