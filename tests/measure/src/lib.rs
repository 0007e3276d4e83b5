//! What all benchmarks have in common: samples become figures, figures become tables, goals hold or do not, and the machine is named.

#![forbid(unsafe_code)]

pub mod figures;
pub mod goals;
pub mod machine;
pub mod processor;
pub mod tables;
