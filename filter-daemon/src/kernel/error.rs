//! What the kernel did not do, on what, and what to do next.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why the kernel's part failed.
#[derive(Debug, Error)]
pub enum KernelError {
    /// The kernel is older than any that filterd was tested on.
    #[error("Linux {found} is too old: filterd needs {} or newer", super::version::OLDEST)]
    TooOld {
        /// What `uname -r` says.
        found: String,
    },
    /// No bpffs where pins should go.
    #[error("cannot make {} on a BPF file system: {source}\n       try `mount -t bpf bpf /sys/fs/bpf`", path.display())]
    NoBpffs {
        /// The directory for pins.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Capabilities are missing.
    #[error(
        "not permitted to {what}\n       filterd needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON: run it as root"
    )]
    NotPermitted {
        /// What was tried.
        what: &'static str,
    },
    /// A program or map could not be loaded.
    #[error("cannot {what}: {reason}")]
    Load {
        /// What was tried.
        what: &'static str,
        /// All that aya and the kernel tell, with the verifier's log if there is one.
        reason: String,
    },
    /// No such interface.
    #[error("there is no interface {name}\n       `ip -brief link` lists those there are")]
    NoInterface {
        /// Its name.
        name: String,
    },
    /// The kernel has no memory for a table.
    #[error(
        "the kernel gives no {bytes} bytes for the table of {name}: {reason}\n       what was blocked stays blocked; \
             free memory, or raise the limit of filterd's cgroup (MemoryMax)"
    )]
    NoMemory {
        /// Which table.
        name: &'static str,
        /// How much was asked for.
        bytes: u64,
        /// What the kernel says.
        reason: String,
    },
    /// Somebody else's program is there.
    #[error(
        "{name} already has an XDP program: {program} (id {id}, {mode})\n       filterd never replaces a program that \
         is not its own; remove it with whatever attached it, or with `ip link set dev {name} {off} off`"
    )]
    Foreign {
        /// The interface.
        name: String,
        /// The program's name.
        program: String,
        /// The program's id.
        id: u32,
        /// The mode it is attached in.
        mode: &'static str,
        /// What `ip link` calls that mode.
        off: &'static str,
    },
    /// The interface takes no XDP program in the mode asked for.
    #[error("cannot attach to {name} in {mode} mode: {source}\n       {hint}")]
    Attach {
        /// The interface.
        name: String,
        /// The mode.
        mode: &'static str,
        /// What the kernel says.
        source: io::Error,
        /// What to do about it.
        hint: String,
    },
    /// Talking to the kernel about interfaces failed.
    #[error("cannot ask the kernel about {name}: {reason}")]
    Netlink {
        /// The interface.
        name: String,
        /// Why.
        reason: String,
    },
    /// The set is larger than the largest table.
    #[error(
        "{entries} entries are more than one table takes ({most}): block prefixes instead of single addresses"
    )]
    TooMany {
        /// How many were asked for.
        entries: u64,
        /// How many fit.
        most: u64,
    },
    /// A map could not be seen as memory.
    #[error("cannot map {what} into memory: {source}")]
    Window {
        /// Which map.
        what: &'static str,
        /// Why.
        source: nix::Error,
    },
}

impl KernelError {
    /// The error of making a map of so many bytes.
    pub(super) fn map(name: &'static str, bytes: u64, error: impl std::error::Error + 'static) -> Self {
        match errno_of(&error) {
            Some(nix::libc::ENOMEM) => Self::NoMemory { name, bytes, reason: chain(&error) },
            _ => Self::load("make a table", error),
        }
    }

    /// The error of loading something, told apart by what the kernel answered.
    pub(super) fn load(what: &'static str, error: impl std::error::Error + 'static) -> Self {
        if errno_of(&error) == Some(nix::libc::EPERM) {
            return Self::NotPermitted { what };
        }
        Self::Load { what, reason: chain(&error) }
    }
}

/// The system's error number behind `error`, wherever in its chain that stands.
pub(super) fn errno_of(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    std::iter::successors(Some(error), |error| error.source())
        .find_map(|error| error.downcast_ref::<io::Error>()?.raw_os_error())
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes: Vec<_> =
        std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect();
    causes.join(": ")
}
