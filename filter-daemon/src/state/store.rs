//! The state directory's manifests and blobs, as files.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::at_start::Recorded;
use super::blobs::{self, Blobs};
use super::draft::Draft;
use super::files::{self, CopyError};
use super::generation::{ConfigText, Generation, SavedConfig, TrialHead};
use super::manifest::{self, FILE_AT, FoundGeneration};
use crate::blocklist::EntryTimes;
use crate::clock;
use crate::source::reading::AcceptedSource;
use crate::source::{ListFile, ReadOptions};
use crate::text::printable;

/// More than any manifest has: a thousand lists with the longest paths.
const LONGEST: u64 = 64 << 20;

/// The names of the manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationName {
    Current,
    Trial,
    Rejected,
}

impl GenerationName {
    pub const fn file(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Trial => "trial",
            Self::Rejected => "rejected",
        }
    }
}

/// The manifests and blobs of a state directory.
#[derive(Clone, Debug)]
pub struct StateStore {
    pub(super) state: PathBuf,
    pub(super) blobs: Blobs,
}

impl StateStore {
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { state: state.to_owned(), blobs: Blobs::of(state) }
    }

    /// Reads the manifest of this name.
    #[must_use]
    pub fn read(&self, name: GenerationName) -> FoundGeneration {
        let path = self.path_of(name);
        let mut bytes = Vec::new();
        match files::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)) {
            Ok(_) => manifest::read(&bytes, &clock::moment()),
            Err(error) if error.kind() == ErrorKind::NotFound => FoundGeneration::Missing,
            Err(error) => FoundGeneration::Damaged(format!("{}: {error}", printable::path(&path))),
        }
    }

    /// True if this manifest is there, whole or not.
    #[must_use]
    pub fn has(&self, name: GenerationName) -> bool {
        self.path_of(name).exists()
    }

    /// True if the manifest is hidden from this user.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        let opened = files::open(&self.path_of(GenerationName::Current));
        opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    }

    /// Writes a manifest. It is on disk when this returns. Its blobs must be there before.
    ///
    /// # Errors
    /// If the disk refuses. The earlier manifest stays then.
    pub fn write(&self, name: GenerationName, generation: &Generation) -> Result<(), CopyError> {
        let (path, disk) = (self.path_of(name), &self.blobs.disk);
        let new = path.with_extension(files::UNFINISHED);
        let text = manifest::text(generation, &clock::moment());
        let written = || {
            disk.make_directory(&self.state)?;
            disk.remove(&new)?;
            let file = disk.create(&new)?;
            disk.write(&file, text.as_bytes())?;
            disk.sync(&file)?;
            disk.rename(&new, &path)?;
            disk.sync_directory(&self.state)
        };
        written().map_err(|error| {
            // An unfinished file would take up space on a full disk.
            _ = disk.remove(&new);
            CopyError::system(&path, error)
        })
    }

    /// Makes the generation on trial the current one.
    ///
    /// # Errors
    /// If the disk refuses. The trial goes on for the next start then.
    pub fn confirm(&self) -> Result<(), String> {
        if self.has(GenerationName::Trial) {
            self.rename(GenerationName::Trial, GenerationName::Current)?;
        }
        self.forget(GenerationName::Rejected)
    }

    /// Records that the generation on trial was rolled back. A start does not take the configuration's file
    /// while it has the checksum that `head` says.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn reject(&self, head: &TrialHead) -> Result<(), String> {
        if self.has(GenerationName::Trial) {
            self.rename(GenerationName::Trial, GenerationName::Rejected)?;
        }
        let path = self.path_of(GenerationName::Rejected);
        if let Recorded::Trial(found) = (&self.read(GenerationName::Rejected)).into() {
            if found.file == head.file {
                return Ok(());
            }
            let file = format!("{:08x}", head.file);
            let overwritten = self.blobs.disk.overwrite(&path, file.as_bytes(), FILE_AT);
            return overwritten.map_err(|error| refused(&path, &error));
        }
        let generation = Generation { trial: Some(head.clone()), ..Generation::default() };
        self.write(GenerationName::Rejected, &generation).map_err(|error| error.to_string())
    }

    /// Removes a manifest, and the blobs that only a trial names. Others go with the next save.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn forget(&self, name: GenerationName) -> Result<(), String> {
        let path = self.path_of(name);
        if !path.exists() {
            return Ok(());
        }
        let trial = if name == GenerationName::Trial { self.read(name).generation() } else { None };
        let removed = self.blobs.disk.remove(&path);
        let removed = removed.and_then(|()| self.blobs.disk.sync_directory(&self.state));
        removed.map_err(|error| refused(&path, &error))?;
        if let Some(trial) = trial
            && let Some(current) = self.read(GenerationName::Current).generation()
        {
            let over = &trial.blobs() - &current.blobs();
            over.iter().for_each(|digest| _ = self.blobs.disk.remove(&self.blobs.path(*digest)));
        }
        Ok(())
    }

    fn rename(&self, from: GenerationName, to: GenerationName) -> Result<(), String> {
        let (from, to) = (self.path_of(from), self.path_of(to));
        let renamed = self.blobs.disk.rename(&from, &to);
        let renamed = renamed.and_then(|()| self.blobs.disk.sync_directory(&self.state));
        renamed.map_err(|error| refused(&from, &error))
    }

    /// Writes the manifests of times that would convert to other values than now, because the clock was set.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn renew(&self) -> Result<(), CopyError> {
        for name in [GenerationName::Current, GenerationName::Trial] {
            let generation = self.read(name).generation();
            if let Some(generation) = generation.filter(|found| found.is_outdated(&clock::moment())) {
                self.write(name, &generation)?;
            }
        }
        Ok(())
    }

    /// Records in the current manifest from which files these lists came, whose contents are unchanged.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn know_files(&self, lists: &[AcceptedSource]) -> Result<(), CopyError> {
        let Some(mut current) = self.read(GenerationName::Current).generation() else { return Ok(()) };
        for saved in &mut current.lists {
            let known = lists.iter().find(|list| (&list.name, list.digest) == (&saved.name, saved.digest));
            saved.stamp = known.map_or(saved.stamp, |known| known.stamp);
        }
        self.write(GenerationName::Current, &current)
    }

    /// The saved text of this configuration.
    ///
    /// # Errors
    /// If there is none, or if it is damaged.
    pub fn text_of(&self, config: &SavedConfig) -> Result<ConfigText, String> {
        let cannot = |error: CopyError| match error {
            CopyError::Damaged => {
                format!("{}: it is damaged", printable::path(&self.blobs.path(config.digest)))
            }
            other @ (CopyError::Full { .. } | CopyError::Gone | CopyError::System { .. }) => {
                other.to_string()
            }
        };
        let text = self.blobs.text(config.digest, crate::config::LARGEST).map_err(cannot)?;
        Ok(ConfigText { of: config.of.clone(), text })
    }

    /// Reads the list in a copy.
    ///
    /// # Errors
    /// If the copy cannot be read or is damaged.
    pub fn read_list(&self, accepted: &AcceptedSource, how: &ReadOptions) -> Result<ListFile, CopyError> {
        blobs::read_list(self.blobs.open(accepted.digest)?, accepted, how)
    }

    /// The saved times of this list. None if it has none.
    ///
    /// # Errors
    /// If they cannot be read or are damaged.
    pub fn times(&self, accepted: &AcceptedSource) -> Result<Option<EntryTimes>, CopyError> {
        let Some(saved) = &accepted.times else { return Ok(None) };
        blobs::read_times(self.blobs.open(saved.digest)?, saved).map(Some)
    }

    /// A new file for the bytes of a list that is being read.
    #[must_use]
    pub fn draft(&self) -> Draft {
        self.blobs.draft()
    }

    /// True if the disk has room for another copy of this many bytes.
    #[must_use]
    pub fn has_room(&self, bytes: u64) -> bool {
        self.draft().has_room(bytes)
    }

    /// True if this list has a copy.
    #[must_use]
    pub fn has_copy(&self, accepted: &AcceptedSource) -> bool {
        self.blobs.has(accepted.digest) && self.has(GenerationName::Current)
    }

    /// True if the list does not end with a newline. None if there is no copy to check.
    #[must_use]
    pub fn open_end(&self, accepted: &AcceptedSource) -> Option<bool> {
        self.blobs.open_end(accepted)
    }

    /// The path of this list's copy, whether it exists or not.
    #[must_use]
    pub fn path(&self, accepted: &AcceptedSource) -> PathBuf {
        self.blobs.path(accepted.digest)
    }

    /// The path of a manifest, whether it exists or not.
    #[must_use]
    pub fn path_of(&self, name: GenerationName) -> PathBuf {
        self.state.join(name.file())
    }

    /// Removes files that an earlier filterd did not finish.
    pub fn clean(&self) {
        self.blobs.clean();
        for name in [GenerationName::Current, GenerationName::Trial, GenerationName::Rejected] {
            _ = fs::remove_file(self.path_of(name).with_extension(files::UNFINISHED));
        }
    }
}

fn refused(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", printable::path(path))
}
