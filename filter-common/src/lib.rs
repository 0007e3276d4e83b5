//! The filter and the decision about a packet. The XDP program and the daemon share this source.
//!
//! No code here allocates memory, panics on input, or knows where its words are stored. Tables are accessed
//! through [`Words`], and packets through [`packet::Frame`]. The same functions therefore run as bytecode on
//! BPF maps, in the daemon on the same maps through mmap, and in tests on plain memory.

#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

pub mod counters;
pub mod cuckoo;
pub mod direction;
pub mod flow;
pub mod hash;
pub mod judge;
pub mod labels;
pub mod levels;
pub mod networks;
pub mod packet;
pub mod permutation;
pub mod ports;
pub mod reason;
pub mod sampling;
pub mod set;
pub mod sets;
pub mod settings;
pub mod stash;
pub mod target;
pub mod width;
mod words;

pub use words::{Rest, Words, WordsMut};
