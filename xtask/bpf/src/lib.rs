//! The BPF objects: those that come with the source, and how they are made.
//!
//! The task runner and filter-daemon/build.rs have this in common; it is apart, so that building the daemon does not build
//! the task runner.

#![forbid(unsafe_code)]

mod btf;
pub mod compiled;
pub mod debian;
pub mod ebpf;
mod embedded;
pub mod lock;
mod manifest;
pub mod process;
pub mod recipe;
pub mod toolchain;
pub mod workspace;
