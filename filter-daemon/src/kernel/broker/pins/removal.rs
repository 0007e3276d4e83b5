//! Finds and removes the pins of an ended filterd, and leaves all other files alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::sent_work::SentWork;
use super::{Pins, REHEARSAL, entries, is_bpffs, remove_pin};
use crate::config::pin;
use crate::kernel::KernelError;
use crate::lock::Lock;
use crate::text::printable;

impl Pins {
    /// Opens the pin directory, if filterd has made it. A directory on another file system is not ours.
    pub fn find(directory: &Path) -> Result<Option<(Self, Lock)>, KernelError> {
        let pins = Self::at(directory);
        let failed = |source| KernelError::NoPins { path: directory.to_owned(), reason: source };
        let hidden =
            || KernelError::NotPermitted { what: format!("look into {}", printable::path(directory)) };
        match fs::symlink_metadata(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(hidden()),
            Err(error) => return Err(failed(error.to_string())),
            Ok(found) if !found.is_dir() => return Err(failed("it is not a directory".to_owned())),
            Ok(_) => {}
        }
        if !is_bpffs(directory).map_err(|error| failed(error.to_string()))? {
            return Err(failed("it is not on a BPF file system".to_owned()));
        }
        // Without permission the directory looks empty, which does not mean that it is.
        if fs::read_dir(directory).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
            return Err(hidden());
        }
        if pins.are_none() {
            let within = entries(directory).into_iter().find(|path| !Self::at(path).are_none());
            if let Some(within) = within {
                return Err(failed(format!("they are in {}", printable::path(&within))));
            }
            pins.must_be_ours(directory).map_err(|_| failed("it contains none".to_owned()))?;
            let _lock = pins.lock("")?;
            _ = ["links", "tables"].map(|part| fs::remove_dir(directory.join(part)));
            _ = fs::remove_dir(directory);
            return Ok(None);
        }
        pins.must_be_ours(directory)?;
        let lock = pins.lock("")?;
        Ok(Some((pins, lock)))
    }

    /// True if no pin of filterd exists there.
    fn are_none(&self) -> bool {
        let mut files = self.roots().chain([self.counters()]);
        let parts = ["links", "tables", REHEARSAL].map(|part| self.directory.join(part));
        files.all(|path| !path.exists())
            && parts.iter().all(|part| entries(part).is_empty())
            && self.all_versions().is_empty()
            && self.have_nothing_sent()
    }

    /// Removes all our pins, and with the last pin of a link its attachment. Returns the remaining files.
    pub fn remove(&self) -> io::Result<Vec<PathBuf>> {
        self.remove_rehearsal()?;
        self.roots().chain([self.counters()]).try_for_each(|pin| remove_pin(&pin))?;
        self.links_aside().iter().try_for_each(|name| self.forget_link_aside(name))?;
        self.clear("links", |pin| pin::spelled(pin).is_some())?;
        self.forget_flows()?;
        self.forget_connect()?;
        SentWork::ALL.into_iter().try_for_each(|work| self.forget_all_sent(work))?;
        self.clear("tables", |name| name.rsplit_once('-').is_some())?;
        self.all_versions().iter().try_for_each(fs::remove_dir)?;
        self.forget_former_names()?;
        let left = entries(&self.directory);
        if left.is_empty() {
            fs::remove_dir(&self.directory)?;
        }
        Ok(left)
    }

    /// Removes the pins of a rehearsal. It has attached nothing.
    pub(super) fn remove_rehearsal(&self) -> io::Result<()> {
        let directory = self.directory.join(REHEARSAL);
        // Files behind a symbolic link are not ours.
        if !fs::symlink_metadata(&directory).is_ok_and(|found| found.is_dir()) {
            return Ok(());
        }
        Self::at(&directory).remove().map(drop)
    }

    /// Removes one of our directories and the pins in it that have our names. The directory stays if it
    /// contains more.
    pub(super) fn clear(&self, part: &str, is_ours: impl Fn(&str) -> bool) -> io::Result<()> {
        let directory = self.directory.join(part);
        // Files behind a symbolic link are not ours, even if their names are.
        if !fs::symlink_metadata(&directory).is_ok_and(|found| found.is_dir()) {
            return Ok(());
        }
        let named = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(&is_ours);
        entries(&directory).iter().filter(|path| named(path)).try_for_each(|path| remove_pin(path))?;
        if entries(&directory).is_empty() { fs::remove_dir(&directory) } else { Ok(()) }
    }
}
