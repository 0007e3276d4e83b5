//! Which list each target is counted for: the first, in the order of lists, that wants it. What packets meet is a small
//! number of that list, and those beyond the first 250 share one.
//!
//! `numbers` says which list has which, `order` who comes first, and `pages` changes the order page by page: what lies up to
//! the page that is done is in the order that is coming, what lies behind it in the one before. So at every moment each target
//! has one label, and whoever carries effects to the kernel has that one.

mod numbers;
mod order;
mod pages;
mod question;

#[cfg(test)]
mod tests;

pub use numbers::Number;
pub(super) use numbers::Numbers;
pub(super) use order::Labels;
