//! Reads and writes text for people and files. Imports nothing from this crate.

pub mod date;
pub mod explanation;
pub mod lines;
pub mod printable;
pub mod quantity;

pub use explanation::{Explain, Explanation};
