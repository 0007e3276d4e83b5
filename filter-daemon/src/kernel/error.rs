//! Errors of the kernel's part: the failed action, its object, and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::lock::{Holder, PlaceInUse};
use crate::text::{Explain, printable};

/// Why the kernel's part failed. The broker sends it to the daemon, which reports it.
#[derive(Clone, Debug, Error, Serialize, Deserialize)]
pub enum KernelError {
    #[error("Linux {found} is too old: filterd needs {} or newer", super::version::OLDEST)]
    TooOld {
        /// The running kernel's release.
        found: String,
    },
    /// There is no bpffs for the pins.
    #[error("cannot use {} on a BPF file system: {reason}", printable::path(path))]
    NoBpffs {
        /// The directory meant for pins.
        path: PathBuf,
        reason: String,
    },
    #[error(transparent)]
    Taken(#[from] PlaceInUse),
    /// The given directory contains no pins of filterd.
    #[error("{} contains no pins of filterd: {reason}", path.display())]
    NoPins {
        /// The directory that was given.
        path: PathBuf,
        reason: String,
    },
    /// Another user could have changed a pin.
    #[error("{} is not safe to use: {why}", printable::path(path))]
    Untrusted {
        /// The pin, or a directory of pins.
        path: PathBuf,
        why: String,
        /// It belongs to our own user, but is accessible to others.
        is_ours: bool,
        pins: PathBuf,
    },
    /// The broker process does not answer.
    #[error("the broker process (filterd-broker) does not answer: {reason}")]
    BrokerGone {
        /// How the broker failed to answer.
        reason: String,
    },
    /// The broker refuses the request on principle.
    #[error("the broker process did not {what}: {why}")]
    Refused {
        /// The action that was requested.
        what: String,
        why: String,
    },
    #[error("not permitted to {what}")]
    NotPermitted {
        /// The action that was attempted.
        what: String,
    },
    #[error("cannot {what}: {reason}")]
    Load {
        what: String,
        /// The full text from aya and the kernel, with the verifier's log if there is one.
        reason: String,
    },
    #[error("the kernel refused {bytes} bytes for the table of {name}: {reason}")]
    NoMemory {
        name: String,
        bytes: u64,
        /// The error that the kernel returned.
        reason: String,
    },
    /// A program that is not filterd's occupies the interface.
    #[error("{name} already has an XDP program: {program} (id {id}, {mode})")]
    Foreign {
        name: String,
        program: String,
        id: u32,
        mode: String,
        /// The name of that mode in `ip link`.
        off: String,
        /// The number of the link that attaches it, if there is one.
        link: Option<u32>,
    },
    /// Another filterd filters there, or has left its filter behind.
    #[error(
        "{name} is already filtered by {}: {program} (id {id}){}",
        holder.as_ref().map_or_else(|| "another filterd".to_owned(), |holder| holder.to_string()),
        pins.as_ref().map_or_else(String::new, |pins| format!(", pinned in {}", pins.display()))
    )]
    Occupied {
        name: String,
        program: String,
        id: u32,
        /// The number of the link that attaches it, if known.
        link: Option<u32>,
        /// The directory where it is pinned, if known.
        pins: Option<PathBuf>,
        /// The process that uses those pins, if there is one.
        holder: Option<Box<Holder>>,
    },
    /// The interface accepts no XDP program in the requested mode.
    #[error("cannot attach to {name} in {mode} mode: {reason}")]
    Attach {
        name: String,
        mode: String,
        /// The error that the kernel returned.
        reason: String,
        /// The remedy that is shown.
        hint: String,
    },
    /// Talking to the kernel about interfaces failed.
    #[error("cannot ask the kernel about interfaces: {reason}")]
    Netlink {
        /// The error of the netlink socket.
        reason: String,
    },
    /// The kernel did not list this host's sockets.
    #[error("cannot ask the kernel about sockets: {reason}")]
    Sockets {
        /// The error of the failed query.
        reason: String,
    },
    #[error("{entries} entries are more than one table takes ({most})")]
    TooMany {
        entries: u64,
        /// The most entries that fit.
        most: u64,
    },
    #[error("cannot map {what} into memory: {reason}")]
    Window {
        /// The name of the map.
        what: String,
        reason: String,
    },
}

/// Stands for a program whose name is not accessible: once started, the broker lacks the capability to ask.
pub const UNNAMED: &str = "?";

impl Explain for KernelError {
    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::NoBpffs { .. } => "to mount one: mount -t bpf bpf /sys/fs/bpf".to_owned(),
            Self::Taken(taken) => return taken.remedy(),
            Self::NoPins { .. } => {
                "nothing was changed; pass the directory that filterd was started with".to_owned()
            }
            // `detach` does not trust such a directory either.
            Self::Untrusted { path, pins, is_ours: true, .. } if path == pins => {
                format!("check its contents, then run: chmod 0700 {}", printable::path(path))
            }
            // A command that changes owner or mode could change the target of a link.
            Self::Untrusted { path, pins, .. } if path == pins => format!(
                "another user took this name, and it contains nothing of filterd; to move it away: mv -T {path} {path}-taken\nwhere other users may write to {}, they can take it again: use another --pin-dir, or mount that file system with mode=0700",
                printable::path(path.parent().unwrap_or(path)),
                path = printable::path(path)
            ),
            Self::Untrusted { pins, .. } => format!(
                "if that is a mistake, fix it; otherwise remove the pins: filterd detach --pin-dir {}",
                printable::path(pins)
            ),
            Self::BrokerGone { .. } => "the filter stays attached; start filterd again".to_owned(),
            Self::NotPermitted { .. } => {
                "filterd needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON: run it as root".to_owned()
            }
            Self::NoMemory { .. } => "blocked sources stay blocked; free memory, or raise the limit of filterd's cgroup (MemoryMax)"
                .to_owned(),
            Self::Foreign { name, program, id, off, link, .. } => {
                let off = format!("ip link set dev {name} {off} off");
                // The link may hold the program on another interface. `ip` is refused only if it holds it on
                // this one.
                let remove = link
                    .map_or_else(|| off.clone(), |link| format!("{off} || bpftool link detach id {link}"));
                let with = match program == UNNAMED {
                    false => format!("remove it with the program that attached it, or with `{remove}`"),
                    // The program was loaded after the broker started, so neither its owner nor its link is
                    // known.
                    true => format!(
                        "`bpftool prog show id {id}` shows whose it is: stop that filterd, or remove it with the program that attached it (`{remove}` if no link holds it)"
                    ),
                };
                format!("filterd never replaces a program that is not its own; {with}")
            }
            Self::Occupied { name, holder: Some(_), .. } => format!(
                "leave {name} to that one, stop it, or replace it with --take-over and its --socket, --state-dir and --pin-dir"
            ),
            Self::Occupied { pins: Some(pins), .. } => format!(
                "it does not run: start filterd with `--pin-dir {pins}` to continue with its filter\nto remove its filter: filterd detach --pin-dir {pins}",
                pins = printable::path(pins)
            ),
            Self::Occupied { link, .. } => format!(
                "stop that one; if it does not run, remove its filter with `filterd detach --pin-dir DIR` or `bpftool link detach id {}`",
                link.map_or_else(|| "ID".to_owned(), |link| link.to_string())
            ),
            Self::Attach { hint, .. } => hint.clone(),
            Self::TooMany { .. } => "block prefixes instead of single addresses".to_owned(),
            Self::TooOld { .. }
            | Self::Refused { .. }
            | Self::Load { .. }
            | Self::Netlink { .. }
            | Self::Sockets { .. }
            | Self::Window { .. } => return None,
        };
        Some(remedy)
    }
}

impl KernelError {
    /// The error of making a map of this many bytes.
    pub(super) fn map(name: &str, bytes: u64, error: impl std::error::Error + 'static) -> Self {
        match errno_of(&error) {
            Some(nix::libc::ENOMEM) => Self::NoMemory { name: name.to_owned(), bytes, reason: chain(&error) },
            _ => Self::load("make a table", error),
        }
    }

    /// The error of loading something, classified by the kernel's error number.
    pub(super) fn load(what: &str, error: impl std::error::Error + 'static) -> Self {
        Self::load_of(what, &error)
    }

    /// Does the same for a borrowed error.
    pub(super) fn load_of(what: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        let what = what.to_owned();
        match errno_of(error) {
            Some(nix::libc::EPERM) => Self::NotPermitted { what },
            // Without the capability, the verifier's message is about pointers and registers, which helps no
            // operator.
            Some(nix::libc::EACCES | nix::libc::EINVAL) if !may_please_the_verifier() => {
                Self::NotPermitted { what }
            }
            _ => Self::Load { what, reason: shortened(chain(error)) },
        }
    }

    /// The error of making or examining pins.
    pub(super) fn no_bpffs(directory: &Path, error: &io::Error) -> Self {
        Self::NoBpffs { path: directory.to_owned(), reason: error.to_string() }
    }

    /// The error of a request that is refused on principle.
    pub(super) fn refused(what: &str, why: &str) -> Self {
        Self::Refused { what: what.to_owned(), why: why.to_owned() }
    }

    /// The error of talking to the broker.
    pub(super) fn broker_gone(reason: impl std::fmt::Display) -> Self {
        Self::BrokerGone { reason: reason.to_string() }
    }
}

/// True if this thread may load programs with variable offsets.
pub(super) fn may_please_the_verifier() -> bool {
    let either = CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN;
    capabilities(None).is_ok_and(|sets| sets.effective.intersects(either))
}

/// A verifier's log may have megabytes; the cause is at its end.
fn shortened(text: String) -> String {
    const MOST: usize = 16 * 1024;
    match text.char_indices().rev().nth(MOST) {
        Some((at, _)) => format!("…{}", &text[at..]),
        None => text,
    }
}

/// The system's error number anywhere in the chain of `error`.
pub(super) fn errno_of(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    std::iter::successors(Some(error), |error| error.source())
        .find_map(|error| error.downcast_ref::<io::Error>()?.raw_os_error())
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes: Vec<_> =
        std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect();
    causes.join(": ")
}
