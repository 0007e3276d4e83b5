//! What the kernel did not do, on what, and what to do next.

use std::io;
use std::path::{Path, PathBuf};

use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::lock::{Holder, Taken};
use crate::text::{Explain, printable};

/// Why the kernel's part failed. It travels from the process that holds the kernel to the one that tells people.
#[derive(Clone, Debug, Error, Serialize, Deserialize)]
pub enum KernelError {
    /// The kernel is older than any that filterd was tested on.
    #[error("Linux {found} is too old: filterd needs {} or newer", super::version::OLDEST)]
    TooOld {
        /// What `uname -r` says.
        found: String,
    },
    /// No bpffs where pins should go.
    #[error("cannot use {} on a BPF file system: {reason}", printable::path(path))]
    NoBpffs {
        /// The directory for pins.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Another filterd uses the pins.
    #[error(transparent)]
    Taken(#[from] Taken),
    /// Another filterd was faster.
    #[error("another filterd took this place first, or the one that had it just ended; nothing was changed")]
    Overtaken,
    /// The pins of another directory were meant.
    #[error("{} contains no pins of filterd: {reason}", path.display())]
    NoPins {
        /// The directory.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Somebody else could have changed a pin.
    #[error("{} is not safe to use: {why}", printable::path(path))]
    Untrusted {
        /// The pin, or a directory of pins.
        path: PathBuf,
        /// Why.
        why: String,
        /// It is our user's own, and too open.
        is_ours: bool,
        /// The directory of all pins.
        pins: PathBuf,
    },
    /// The process that holds the kernel does not answer.
    #[error("the broker process (filterd-broker) does not answer: {reason}")]
    BrokerGone {
        /// Why.
        reason: String,
    },
    /// The process that holds the kernel was asked for something that it does for nobody.
    #[error("the broker process did not {what}: {why}")]
    Refused {
        /// What was asked.
        what: String,
        /// Why not.
        why: String,
    },
    /// Capabilities are missing.
    #[error("not permitted to {what}")]
    NotPermitted {
        /// What was tried.
        what: String,
    },
    /// A program or map could not be loaded.
    #[error("cannot {what}: {reason}")]
    Load {
        /// What was tried.
        what: String,
        /// All that aya and the kernel tell, with the verifier's log if there is one.
        reason: String,
    },
    /// The kernel has no memory for a table.
    #[error("the kernel refused {bytes} bytes for the table of {name}: {reason}")]
    NoMemory {
        /// Which table.
        name: String,
        /// How much was asked for.
        bytes: u64,
        /// What the kernel says.
        reason: String,
    },
    /// Somebody else's program is there.
    #[error("{name} already has an XDP program: {program} (id {id}, {mode})")]
    Foreign {
        /// The interface.
        name: String,
        /// The program's name.
        program: String,
        /// The program's id.
        id: u32,
        /// The mode it is attached in.
        mode: String,
        /// What `ip link` calls that mode.
        off: String,
        /// The number of the link that holds it there, if one does.
        link: Option<u32>,
    },
    /// Another filterd filters there, or one that is gone has left its filter.
    #[error(
        "{name} is already filtered by {}: {program} (id {id}){}",
        holder.as_ref().map_or_else(|| "another filterd".to_owned(), |holder| holder.to_string()),
        pins.as_ref().map_or_else(String::new, |pins| format!(", pinned in {}", pins.display()))
    )]
    Occupied {
        /// The interface.
        name: String,
        /// The program's name.
        program: String,
        /// The program's id.
        id: u32,
        /// The number of the link that holds it there, if that is known.
        link: Option<u32>,
        /// Where it is pinned, if that is known.
        pins: Option<PathBuf>,
        /// Who uses those pins, if anybody does.
        holder: Option<Box<Holder>>,
    },
    /// The interface takes no XDP program in the mode asked for.
    #[error("cannot attach to {name} in {mode} mode: {reason}")]
    Attach {
        /// The interface.
        name: String,
        /// The mode.
        mode: String,
        /// What the kernel says.
        reason: String,
        /// What to do about it.
        hint: String,
    },
    /// Talking to the kernel about interfaces failed.
    #[error("cannot ask the kernel about interfaces: {reason}")]
    Netlink {
        /// Why.
        reason: String,
    },
    /// Which sockets this host has could not be learned.
    #[error("cannot ask the kernel about sockets: {reason}")]
    Sockets {
        /// Why.
        reason: String,
    },
    /// The set is larger than the largest table.
    #[error("{entries} entries are more than one table takes ({most})")]
    TooMany {
        /// How many were asked for.
        entries: u64,
        /// How many fit.
        most: u64,
    },
    /// A map could not be seen as memory.
    #[error("cannot map {what} into memory: {reason}")]
    Window {
        /// Which map.
        what: String,
        /// Why.
        reason: String,
    },
}

/// A program whose name we may not ask: once started, the broker has no capability for it.
pub(super) const UNNAMED: &str = "?";

impl Explain for KernelError {
    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::NoBpffs { .. } => "to mount one: mount -t bpf bpf /sys/fs/bpf".to_owned(),
            Self::Taken(taken) => return taken.remedy(),
            Self::NoPins { .. } => {
                "nothing was changed; pass the directory that filterd was started with".to_owned()
            }
            Self::Overtaken => {
                "to see which one runs: filterd status\nto replace it, start this one again with --take-over"
                    .to_owned()
            }
            // Such a directory `detach` does not believe either.
            Self::Untrusted { path, pins, is_ours: true, .. } if path == pins => {
                format!("check its contents, then run: chmod 0700 {}", printable::path(path))
            }
            // Whoever changes its owner or mode may do that to what a link leads to.
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
                // The link may hold the program somewhere else: where it holds it here, and only there, `ip` is refused.
                let remove = link
                    .map_or_else(|| off.clone(), |link| format!("{off} || bpftool link detach id {link}"));
                let with = match program == UNNAMED {
                    false => format!("remove it with the program that attached it, or with `{remove}`"),
                    // It came after us: neither whose it is can be seen, nor whether a link holds it.
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
    /// The error of making a map of so many bytes.
    pub(super) fn map(name: &str, bytes: u64, error: impl std::error::Error + 'static) -> Self {
        match errno_of(&error) {
            Some(nix::libc::ENOMEM) => Self::NoMemory { name: name.to_owned(), bytes, reason: chain(&error) },
            _ => Self::load("make a table", error),
        }
    }

    /// The error of loading something, told apart by what the kernel answered.
    pub(super) fn load(what: &str, error: impl std::error::Error + 'static) -> Self {
        Self::load_of(what, &error)
    }

    /// The same of an error that is only borrowed.
    pub(super) fn load_of(what: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        let what = what.to_owned();
        match errno_of(error) {
            Some(nix::libc::EPERM) => Self::NotPermitted { what },
            // What the verifier says to somebody without the capability tells of pointers and registers.
            Some(nix::libc::EACCES | nix::libc::EINVAL) if !may_please_the_verifier() => {
                Self::NotPermitted { what }
            }
            _ => Self::Load { what, reason: shortened(chain(error)) },
        }
    }

    /// The error of making or looking at pins.
    pub(super) fn no_bpffs(directory: &Path, error: &io::Error) -> Self {
        Self::NoBpffs { path: directory.to_owned(), reason: error.to_string() }
    }

    /// The error of being asked for something that is done for nobody.
    pub(super) fn refused(what: &str, why: &str) -> Self {
        Self::Refused { what: what.to_owned(), why: why.to_owned() }
    }

    /// The error of talking to the process that holds the kernel.
    pub(super) fn broker_gone(reason: impl std::fmt::Display) -> Self {
        Self::BrokerGone { reason: reason.to_string() }
    }
}

/// May this thread load programs whose offsets vary?
pub(super) fn may_please_the_verifier() -> bool {
    let either = CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN;
    capabilities(None).is_ok_and(|sets| sets.effective.intersects(either))
}

/// A verifier's log may have megabytes; what is wrong stands at its end.
fn shortened(text: String) -> String {
    const MOST: usize = 16 * 1024;
    match text.char_indices().rev().nth(MOST) {
        Some((at, _)) => format!("…{}", &text[at..]),
        None => text,
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
