//! What all benchmarks have in common: samples become figures, figures become tables, and the machine is named.

#![forbid(unsafe_code)]

pub mod figures;
pub mod machine;
pub mod processor;
pub mod tables;
