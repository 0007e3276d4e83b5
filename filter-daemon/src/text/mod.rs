//! Text, as it comes from people and files and goes back to them. Imports nothing of this crate.

pub mod date;
pub mod explanation;
pub mod lines;
pub mod printable;
pub mod quantity;

pub use explanation::{Explain, Explanation};
