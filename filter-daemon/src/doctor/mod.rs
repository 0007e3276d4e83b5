//! Checks what prevents filterd from running on this machine, or would slow it down, with one file for each
//! check. Nothing is changed.
//!
//! `findings` holds the results. `device` and `card` read facts about interfaces through `netlink`.
//! /sys/class/net would show the interfaces of the network namespace in which /sys was mounted.

mod blocklists;
mod bpffs;
mod btf;
mod capabilities;
mod card;
mod clock;
mod configuration;
mod containers;
mod crowdsec;
mod daemon;
mod device;
mod findings;
mod interface;
mod jit;
mod kernel;
mod landlock;
mod memory;
mod processes;
mod seccomp;
mod state;
mod xdp;

use std::path::PathBuf;

pub use card::runs_programs;
pub use daemon::DaemonCheck;
pub use findings::{Finding, Findings, Health};

/// The subject of the checks.
#[derive(Debug)]
pub struct Subject {
    /// The interfaces that were named.
    pub interfaces: Vec<String>,
    /// The configuration, which names more interfaces.
    pub config: Option<PathBuf>,
    /// The configuration was named, so that it must exist.
    pub is_config_named: bool,
    /// The socket of a daemon.
    pub socket: PathBuf,
    /// The state directory of a daemon.
    pub state_dir: PathBuf,
    /// The pin directory of a daemon.
    pub pin_dir: PathBuf,
    /// The answer of a daemon, if one runs.
    pub daemon: DaemonCheck,
    /// The root of the machine's files, which is another directory in tests.
    pub root: PathBuf,
}

impl Subject {
    /// The path of a file, given without the leading slash.
    fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The content of a file without surrounding blanks, or none if it is missing or may not be read.
    fn text(&self, path: &str) -> Option<String> {
        let read = std::fs::read(self.file(path)).ok()?;
        Some(String::from_utf8_lossy(&read).trim().to_owned())
    }
}

pub fn examine(subject: &Subject) -> Findings {
    let mut findings = Findings::default();
    let wanted = configuration::check(subject, &mut findings);
    kernel::check(&mut findings);
    btf::check(subject, &mut findings);
    jit::check(subject, &mut findings);
    bpffs::check(subject, &mut findings);
    capabilities::check(subject, &mut findings);
    memory::check(subject, &mut findings);
    match device::all() {
        Ok(devices) => {
            interface::check(&wanted, &devices, subject, &mut findings);
            containers::check(&devices, &mut findings);
        }
        Err(error) => {
            findings.fail("interface", format!("cannot ask the kernel about interfaces: {error}"), None)
        }
    }
    clock::check(subject, &mut findings);
    state::check(subject, &mut findings);
    blocklists::check(subject, &mut findings);
    landlock::check(&mut findings);
    seccomp::check(subject, &mut findings);
    daemon::check(subject, &mut findings);
    crowdsec::check(subject, &mut findings);
    findings.unseen();
    findings
}

#[cfg(test)]
mod tests;
