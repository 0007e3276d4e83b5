//! What stands in the way of filterd on this machine, or would slow it down: a file a check. Looks, and changes nothing.
//!
//! `findings` is what checks say. What the kernel tells of interfaces is read by `device` and `card`, through `netlink`, and not
//! from /sys/class/net, which shows those of whichever network namespace /sys was mounted in.

mod blocklists;
mod bpffs;
mod btf;
mod capabilities;
mod card;
mod clock;
mod configuration;
mod containers;
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
pub use daemon::Asked;
pub use findings::{Finding, Findings, Health};

/// What is to be looked at.
#[derive(Debug)]
pub struct Subject {
    /// Interfaces that were named.
    pub interfaces: Vec<String>,
    /// The configuration that names more,
    pub config: Option<PathBuf>,
    /// and must be there, since somebody has named it.
    pub is_config_named: bool,
    /// Where a daemon would listen,
    pub socket: PathBuf,
    /// keep what must survive,
    pub state_dir: PathBuf,
    /// and pin.
    pub pin_dir: PathBuf,
    /// What a daemon there has answered, if there is one.
    pub daemon: Asked,
    /// Where the files of the machine are: elsewhere in tests.
    pub root: PathBuf,
}

impl Subject {
    /// A file of the machine, by its path without the first slash.
    fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// What stands in it, without blanks around; nothing if it is not there or may not be read.
    fn text(&self, path: &str) -> Option<String> {
        let read = std::fs::read(self.file(path)).ok()?;
        Some(String::from_utf8_lossy(&read).trim().to_owned())
    }
}

/// Looks at everything.
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
    findings.unseen();
    findings
}

#[cfg(test)]
mod tests;
