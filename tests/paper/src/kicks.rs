//! How the paper makes room: a random displaced entry moves to its other bucket and makes another one there, up to 500 times.
//!
//! Its algorithm 1, but for the end: what does not come in leaves everything as it was, so that no member is lost.

use filter_common::WordsMut;
use filter_common::cuckoo::scheme::Scheme;
use filter_common::cuckoo::{Full, Table};

use crate::hash::Choices;

/// After so many the filter is full (the paper's MaxNumKicks).
const MOST: usize = 500;

/// Lets `key` in where a home has a free slot, else by kicks.
pub fn insert<S: Scheme, W: WordsMut>(
    table: &Table<S, W>,
    key: S::Key,
    choices: &mut Choices,
) -> Result<(), Full> {
    if table.insert_free(key) {
        return Ok(());
    }
    let mut homeless = table.scheme().homes(key)[choices.below(2) as usize];
    let mut kicked = Vec::with_capacity(MOST);
    for _ in 0..MOST {
        let number = choices.below(table.geometry().bucket_slots());
        let victim = table.home_at(homeless.bucket, number);
        table.put(table.slot(homeless.bucket, number), homeless.code);
        kicked.push((homeless, victim.code));
        homeless = table.scheme().other(victim);
        if let Some(free) = table.free_slot(homeless.bucket) {
            table.put(free, homeless.code);
            return Ok(());
        }
    }
    for (intruder, victim) in kicked.into_iter().rev() {
        table.put(table.slot_of(intruder).expect("it was put there"), victim);
    }
    Err(Full)
}
