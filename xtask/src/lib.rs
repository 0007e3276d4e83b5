//! Finds the toolchain for BPF and builds the objects: what the tasks and filter-daemon/build.rs have in common.

#![forbid(unsafe_code)]

pub mod debian;
pub mod ebpf;
pub mod process;
pub mod toolchain;
pub mod workspace;
