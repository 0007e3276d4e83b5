//! The filters of "Cuckoo Filter: Practically Better Than Bloom" (Fan, Andersen, Kaminsky, Mitzenmacher; CoNEXT 2014),
//! and tables of the cuckoo hashing it grew from.
//!
//! The partial-key cuckoo filter is filterd's own table with a scheme of its own (`hashed`), other places for
//! its words (`packed`, `semisorted`) and the paper's own way to make room (`kicks`). Everything else is written to be
//! measured beside it: `bloom`, `blocked`, `quotient`, `dleft`, and with whole keys `nests` and `optimistic`.
//! `cargo xtask bench paper` makes the tables.

#![forbid(unsafe_code)]

pub mod blocked;
pub mod bloom;
pub mod cuckoo;
pub mod dleft;
pub mod hash;
pub mod hashed;
pub mod kicks;
pub mod nests;
pub mod optimistic;
pub mod packed;
pub mod quotient;
pub mod semisorted;

pub use filter_common::cuckoo::Full;

/// A set that may take a non-member for a member, but no member for a non-member.
pub trait Filter {
    /// Lets `key` in. The caller knows that it is not a member yet.
    fn insert(&mut self, key: u64) -> Result<(), Full>;

    /// Might `key` be a member?
    fn contains(&self, key: u64) -> bool;

    /// The memory that it takes.
    fn bits(&self) -> u64;
}

/// One that forgets, too.
pub trait Forget: Filter {
    /// Takes `key` out. The caller knows that it is a member: a non-member's removal may make a member a non-member.
    fn remove(&mut self, key: u64);
}
