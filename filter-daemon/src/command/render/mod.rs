//! Formats answers: numbers, times, entries, and the terminal or pipes that they go to.

pub mod console;
pub mod entry;
pub mod figure;
pub mod held;
pub mod hits;
pub mod moment;
pub mod protection;
pub mod remark;
pub mod remote;
