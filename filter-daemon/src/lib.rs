//! filterd drops packets by source address at the earliest point that the kernel offers.
//!
//! `cli` parses the command line, and `command` carries out a command by asking the daemon through `control`.
//! `daemon` owns the `blocklist` and the tables in the `kernel`, which it fills from `config` and `source`.

/// Unit tests include files of `tests/harness`, which refer to this crate by its name.
#[cfg(test)]
extern crate self as filterd;

pub mod accounts;
pub mod blocklist;
pub mod cli;
pub mod clock;
pub mod command;
pub mod config;
pub mod control;
pub mod crowdsec;
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
pub mod plan;
pub mod seccomp;
pub mod source;
pub mod state;
pub mod state_directory;
pub mod text;
