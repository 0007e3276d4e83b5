//! The binary tree of a database. Each node has two records: one for addresses whose next bit is 0, one for
//! those with 1.

use filter_common::target::{Prefix, Prefix4, Prefix6};

use super::value::DatabaseDamage;

/// The tree of one file.
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
    /// An IPv4 network, wherever it is in the tree.
    V4(Prefix4),
    /// An IPv6 network, outside the IPv4 ranges.
    V6(Prefix6),
}

/// A record to visit, and the address bits that lead to it.
#[derive(Clone, Copy)]
struct TreePosition {
    record: usize,
    address: u128,
    depth: u8,
}

/// The place of IPv4 in an IPv6 tree: below `::/96`, and in some trees below `::ffff:0:0/96`.
const FOUR: u8 = 96;
const MAPPED: u128 = 0xffff;

impl<'a> Tree<'a> {
    /// The tree at the beginning of the file, and its length in bytes.
    pub fn new(
        bytes: &'a [u8],
        count: Option<u64>,
        record_bits: Option<u64>,
        version: Option<u64>,
    ) -> Result<(Self, usize), DatabaseDamage> {
        let count = count.and_then(|count| u32::try_from(count).ok());
        let count = count.ok_or(DatabaseDamage("it does not say how large its tree is"))? as usize;
        let record_bits = match record_bits {
            Some(24) => 24,
            Some(28) => 28,
            Some(32) => 32,
            _ => {
                return Err(DatabaseDamage(
                    "the records of its tree have another size than 24, 28 or 32 bits",
                ));
            }
        };
        let is_four = match version {
            Some(4) => true,
            Some(6) => false,
            _ => return Err(DatabaseDamage("it has neither IPv4 nor IPv6")),
        };
        let length = count.checked_mul(record_bits / 4);
        let nodes = length
            .and_then(|length| bytes.get(..length))
            .ok_or(DatabaseDamage("it ends before its tree does"))?;
        Ok((Self { nodes, count, record_bits, is_four }, nodes.len()))
    }

    /// Calls `found` for every network once, with the offset of its record from the end of the tree, until
    /// `found` returns false.
    pub fn walk(
        &self,
        mut found: impl FnMut(Leaf, usize) -> Result<bool, DatabaseDamage>,
    ) -> Result<(), DatabaseDamage> {
        let longest = if self.is_four { 32 } else { 128 };
        let four = self.four();
        // Only one path leads to every node, except to the node of IPv4.
        let mut visits = self.count.saturating_mul(2).saturating_add(256);
        let mut ahead = vec![TreePosition { record: 0, address: 0, depth: 0 }];
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
            visits = visits.checked_sub(1).ok_or(DatabaseDamage("its tree leads back to itself"))?;
            if place.depth == longest {
                return Err(DatabaseDamage("its tree is deeper than an address has bits"));
            }
            let bit = 1 << (longest - 1 - place.depth);
            let depth = place.depth + 1;
            let [left, right] = self.records(place.record);
            ahead.push(TreePosition { record: right, address: place.address | bit, depth });
            ahead.push(TreePosition { record: left, address: place.address, depth });
        }
        Ok(())
    }

    /// The IPv4 node of an IPv6 tree. Other paths lead to it as well: 6to4 and Teredo, which repeat the same
    /// networks.
    fn four(&self) -> Option<usize> {
        let mut record = 0;
        for _ in 0..FOUR {
            record = (record < self.count).then(|| self.records(record)[0])?;
        }
        (!self.is_four && record < self.count).then_some(record)
    }

    fn is_alias(&self, place: TreePosition, four: Option<usize>) -> bool {
        Some(place.record) == four && (place.depth, place.address) != (FOUR, 0)
    }

    fn leaf(&self, TreePosition { address, depth, .. }: TreePosition) -> Leaf {
        let low = address as u32;
        if self.is_four {
            Leaf::V4(Prefix::covering(low, depth))
        } else if depth >= FOUR && matches!(address >> 32, 0 | MAPPED) {
            Leaf::V4(Prefix::covering(low, depth - FOUR))
        } else {
            Leaf::V6(Prefix::covering(address, depth))
        }
    }

    /// Both records of a node, which must exist.
    fn records(&self, node: usize) -> [usize; 2] {
        let length = self.record_bits / 4;
        let bytes = &self.nodes[node * length..][..length];
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | usize::from(*byte));
        match self.record_bits {
            // The middle byte has the highest bits of both records.
            28 => {
                let middle = usize::from(bytes[3]);
                [(middle >> 4) << 24 | word(&bytes[..3]), (middle & 0xf) << 24 | word(&bytes[4..])]
            }
            bits => [word(&bytes[..bits / 8]), word(&bytes[bits / 8..])],
        }
    }
}
