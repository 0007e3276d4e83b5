//! filterd: drops packets by source address at the earliest point the kernel has.
//!
//! `cli` parses what was typed, `command` carries a verb out by asking the daemon through `control`; `daemon` owns the
//! `blocklist` and the tables in the `kernel`, fed by `config` and `source`.

/// Files of `tests/harness` that unit tests include name this crate as other packages do.
#[cfg(test)]
extern crate self as filterd;

pub mod accounts;
pub mod blocklist;
pub mod cli;
pub mod clock;
pub mod command;
pub mod config;
pub mod control;
pub mod daemon;
pub mod doctor;
pub mod exit;
pub mod fetch;
pub mod host;
pub mod http;
pub mod journal;
pub mod kernel;
pub mod lock;
pub mod memory;
pub mod metrics;
pub mod mount_namespace;
pub mod net_namespace;
pub mod netlink;
pub mod notify;
pub mod seccomp;
pub mod source;
pub mod state_directory;
pub mod text;
