//! What benchmarks print, and the pages that they write into docs/benchmarks.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod clock;
pub mod page;
pub mod plot;
