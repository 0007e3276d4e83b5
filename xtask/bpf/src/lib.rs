//! Finds the toolchain for BPF and builds the objects.
//!
//! The task runner and filter-daemon/build.rs have this in common; it is apart, so that building the daemon does not build
//! the task runner.

#![forbid(unsafe_code)]

pub mod debian;
pub mod ebpf;
mod embedded;
pub mod process;
pub mod toolchain;
pub mod workspace;
