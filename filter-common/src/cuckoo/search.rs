//! Finds room for a pending entry: a breadth-first search from its two homes to a free slot.
//!
//! A node is a bucket reached by moving one entry out of the bucket before it. The first free slot ends the
//! search, so paths are as short as possible (libcuckoo and RocksDB search the same way). All memory is in
//! fixed arrays.

use super::scheme::{Home, Scheme};
use super::{Table, TableSlot};
use crate::Words;

/// The largest number of buckets that one search visits. Healthy tables never need a quarter of it. A search
/// that does shows a crowded table or an attacker who knows the key; rebuilding under a new key fixes both.
pub const MOST_NODES: usize = 2048;

/// The longest path: with two slots in a bucket, 2048 nodes are eleven moves deep.
const MOST_WRITES: usize = 12;

#[derive(Clone, Copy)]
struct Node {
    bucket: u32,
    /// The node whose entry moves here, and the number of the slot that it leaves.
    from: u16,
    slot: u8,
    depth: u8,
}

/// The writes that make room and then add the pending entry. They must happen in this order, which starts at
/// the free slot.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    writes: [(TableSlot, u64); MOST_WRITES],
    count: usize,
}

impl Path {
    /// Each slot to write, and its new code. The last one belongs to the pending entry.
    pub fn writes(&self) -> impl DoubleEndedIterator<Item = (TableSlot, u64)> + ExactSizeIterator + '_ {
        self.writes[..self.count].iter().copied()
    }

    /// The same writes, each with the slot from which its entry comes (none for the pending entry). The next
    /// write overwrites that slot.
    pub fn steps(&self) -> impl Iterator<Item = ((TableSlot, u64), Option<TableSlot>)> + '_ {
        let from = self.writes().skip(1).map(|(slot, _)| Some(slot)).chain([None]);
        self.writes().zip(from)
    }

    /// The number of entries that move.
    pub const fn moves(&self) -> usize {
        self.count - 1
    }

    fn push(&mut self, slot: TableSlot, code: u64) {
        self.writes[self.count] = (slot, code);
        self.count += 1;
    }
}

/// Nearly every search ends within this many buckets, and a small array is faster to initialize.
const FEW_NODES: usize = 64;

/// The shortest path to a free slot for a pending entry with these homes. Only entries that `may_move`
/// accepts are moved.
pub(super) fn path<S: Scheme, W: Words, L>(
    table: &Table<S, W, L>,
    homes: [Home; 2],
    may_move: impl Fn(Home) -> bool,
) -> Option<Path> {
    within::<FEW_NODES, _, _, _>(table, homes, &may_move)
        .or_else(|| within::<MOST_NODES, _, _, _>(table, homes, &may_move))
}

/// No bucket occurs twice on the path found: leaving it at its first visit would be shorter and would be
/// found first.
fn within<const LIMIT: usize, S: Scheme, W: Words, L>(
    table: &Table<S, W, L>,
    homes: [Home; 2],
    may_move: &impl Fn(Home) -> bool,
) -> Option<Path> {
    let mut nodes = [Node { bucket: 0, from: 0, slot: 0, depth: 0 }; LIMIT];
    nodes[0].bucket = homes[0].bucket;
    nodes[1].bucket = homes[1].bucket;
    let (mut next, mut count) = (0, 2);
    while next < count {
        let here = nodes[next];
        for number in 0..table.geometry().bucket_slots() {
            let stands = table.home_at(here.bucket, number);
            if !may_move(stands) {
                continue;
            }
            let pushed = table.scheme().other(stands);
            let step =
                Node { bucket: pushed.bucket, from: next as u16, slot: number as u8, depth: here.depth + 1 };
            if let Some(free) = table.free_slot(pushed.bucket) {
                return Some(trace(table, homes, &nodes, step, free));
            }
            if count < LIMIT && usize::from(step.depth) < MOST_WRITES - 1 && pushed.bucket != here.bucket {
                nodes[count] = step;
                count += 1;
            }
        }
        next += 1;
    }
    None
}

fn trace<S: Scheme, W: Words, L>(
    table: &Table<S, W, L>,
    homes: [Home; 2],
    nodes: &[Node],
    last: Node,
    free: TableSlot,
) -> Path {
    let mut path = Path { writes: [(free, 0); MOST_WRITES], count: 0 };
    let (mut step, mut room) = (last, free);
    loop {
        let from = nodes[usize::from(step.from)];
        let number = u32::from(step.slot);
        path.push(room, table.scheme().other(table.home_at(from.bucket, number)).code);
        room = table.slot(from.bucket, number);
        if from.depth == 0 {
            path.push(room, homes[usize::from(step.from)].code);
            return path;
        }
        step = from;
    }
}
