//! Locks for the socket, the state directory and the pin directory. Each belongs to the filterd that uses
//! it, and a second one gets an error that names the first.
//!
//! The kernel keeps a lock for an open file, and not for a process. The lock lasts as long as any process
//! has the file open. It disappears when a daemon is killed.

mod holder;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::clock;
use crate::text::{Explain, printable};
pub use holder::Holder;

/// How long to wait for a lock of a filterd that may be ending.
const ENDING: Duration = Duration::from_millis(300);

/// How long to wait for processes of a killed daemon, which must first notice.
const ORPHANED: Duration = Duration::from_secs(10);

/// How long to wait for a holder that cannot be found: it may have ended a moment ago.
const UNKNOWN: Duration = Duration::from_secs(2);

/// The interval of attempts to lock.
const AGAIN: Duration = Duration::from_millis(5);

/// A resource that can be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LockedPlace {
    Socket,
    State,
    /// The directory of pins.
    Pins,
}

/// A locked place, which is released on drop.
#[derive(Debug)]
pub struct Lock(File);

/// The error for a place that another process uses.
#[derive(Clone, Debug, Error, Serialize, Deserialize)]
#[error("{} is in use by {}", self.what(), holder.as_ref().map_or_else(|| "another process".to_owned(), |holder| holder.to_string()))]
pub struct PlaceInUse {
    pub place: LockedPlace,
    /// The path of the place.
    pub path: PathBuf,
    /// The process that uses it, if it can be identified.
    pub holder: Option<Box<Holder>>,
}

/// Why a place could not be locked.
#[derive(Debug)]
pub enum NotLocked {
    /// Another process uses it.
    Taken(PlaceInUse),
    /// The system refused access.
    Failed(io::Error),
}

impl Lock {
    /// Locks a directory without changing anything in it.
    pub fn directory(place: LockedPlace, path: &Path) -> Result<Self, NotLocked> {
        let begun = clock::instant();
        loop {
            // A symbolic link among the pins would be an attack. The state directory may be one.
            let follow = if place == LockedPlace::Pins { OFlag::O_NOFOLLOW } else { OFlag::empty() };
            let flags = (OFlag::O_DIRECTORY | follow).bits();
            let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
            match Self::file(opened.map_err(NotLocked::Failed)?)? {
                // The directory may have been replaced meanwhile.
                Some(lock) if lock.is_at(path) => return Ok(lock),
                Some(_) => {}
                None => wait_for(place, path, begun)?,
            }
        }
    }

    /// Locks an open file; none if another process has locked it.
    pub fn file(file: File) -> Result<Option<Self>, NotLocked> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(NotLocked::Failed(error)),
        }
    }

    /// The locked file. The lock lasts until it is closed here, too.
    pub fn share(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    /// True if the locked file is the one at this path.
    pub fn is_at(&self, path: &Path) -> bool {
        let (ours, there) = (self.0.metadata(), fs::metadata(path));
        matches!((ours, there), (Ok(ours), Ok(there)) if (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
    }
}

/// Waits for a holder that is about to end: a filterd that was just stopped, or a process of a killed
/// daemon.
fn wait_for(place: LockedPlace, path: &Path, begun: Instant) -> Result<(), NotLocked> {
    let waited = begun.elapsed();
    if waited > ENDING {
        let holder = Holder::of(path).map(Box::new);
        let patience = match &holder {
            Some(holder) if holder.is_orphaned() => ORPHANED,
            Some(_) => ENDING,
            None => UNKNOWN,
        };
        if waited > patience {
            return Err(NotLocked::Taken(PlaceInUse { place, path: path.to_owned(), holder }));
        }
    }
    sleep(AGAIN);
    Ok(())
}

impl PlaceInUse {
    /// The error for a place whose lock is on this file.
    pub fn by_holder_of(file: &Path, place: LockedPlace, path: &Path) -> Self {
        Self { place, path: path.to_owned(), holder: Holder::of(file).map(Box::new) }
    }

    fn what(&self) -> String {
        let path = printable::path(&self.path);
        match self.place {
            LockedPlace::Socket => format!("the control socket {path}"),
            LockedPlace::State => format!("the state directory {path}"),
            LockedPlace::Pins => format!("the pin directory {path}"),
        }
    }
}

/// How to restart a filterd that runs without its socket. A kill of the service would stop it for good.
pub fn start_again(pid: u32) -> String {
    format!(
        "restart the service:  sudo systemctl restart filterd\nor in the foreground: `sudo kill {pid}`, then start it as before; all packets pass until it runs again"
    )
}

impl Explain for PlaceInUse {
    fn remedy(&self) -> Option<String> {
        let flag = match self.place {
            LockedPlace::Socket => "--socket",
            LockedPlace::State => "--state-dir",
            LockedPlace::Pins => "--pin-dir",
        };
        if let Some(holder) = self.holder.as_ref().filter(|holder| holder.has_lost_its_socket()) {
            return Some(format!(
                "its socket was removed and it runs without one\n{}",
                start_again(holder.pid)
            ));
        }
        let socket = self.holder.as_ref().and_then(|holder| holder.socket.as_ref());
        let ask = socket.map_or_else(String::new, |socket| {
            format!(" (see `filterd --socket {} status`)", printable::path(socket))
        });
        Some(format!(
            "stop that one first{ask}, replace it with --take-over, or give this one its own --socket, --state-dir and --pin-dir ({flag} is missing or the same)"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_locked_by_one_process() {
        let place = tempfile::tempdir().unwrap();
        let first = Lock::directory(LockedPlace::State, place.path()).unwrap();
        let Err(NotLocked::Taken(taken)) = Lock::directory(LockedPlace::State, place.path()) else {
            panic!("it was had twice")
        };
        assert_eq!(taken.holder.as_ref().unwrap().pid, std::process::id());
        assert!(taken.to_string().contains(&std::process::id().to_string()), "{taken}");
        drop(first);
        Lock::directory(LockedPlace::State, place.path()).unwrap();
    }

    #[test]
    fn links_and_files_are_not_locked() {
        let place = tempfile::tempdir().unwrap();
        let (link, file) = (place.path().join("link"), place.path().join("file"));
        std::os::unix::fs::symlink(place.path(), &link).unwrap();
        fs::write(&file, "").unwrap();
        for path in [link, file] {
            assert!(
                matches!(Lock::directory(LockedPlace::Pins, &path), Err(NotLocked::Failed(_))),
                "{path:?}"
            );
        }
    }
}
