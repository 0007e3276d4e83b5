//! A generation: a configuration, and the accepted version of each of its lists.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, absolute};

use crate::clock::Moment;
use crate::source::digest::Digest;
use crate::source::reading::AcceptedSource;

/// What a manifest says. Its times are in the time of this process.
#[derive(Clone, Debug, Default)]
pub struct Generation {
    /// The configuration. None if filterd ran without one.
    pub config: Option<SavedConfig>,
    pub lists: Vec<AcceptedSource>,
    /// Set while the generation is on trial.
    pub trial: Option<TrialHead>,
    /// When it was written.
    pub written: Option<Moment>,
}

/// The saved text of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedConfig {
    /// The file that it is a copy of.
    pub of: String,
    pub digest: Digest,
    /// When it was first saved, in seconds since 1970.
    pub at: u64,
}

/// The end of a trial, and who asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialHead {
    /// The boot whose clock `end` refers to.
    pub boot: String,
    /// In milliseconds of that boot.
    pub end: i64,
    /// The user who asked for the trial.
    pub by: String,
    /// The checksum of the configuration's file, which a start does not take after a rollback.
    pub file: u32,
}

/// The text of a configuration, and the file that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigText {
    pub of: String,
    pub text: String,
}

impl ConfigText {
    pub fn new(of: &Path, text: String) -> Self {
        Self { of: named(of), text }
    }
}

impl Generation {
    /// True if it has the configuration of this file.
    pub fn is_of(&self, file: &Path) -> bool {
        self.config.as_ref().is_some_and(|config| config.of == named(file))
    }

    /// The blobs that it needs.
    pub fn blobs(&self) -> HashSet<Digest> {
        let lists = self.lists.iter().flat_map(|list| {
            let times = list.times.as_ref().map(|times| times.digest);
            [Some(list.digest), times].into_iter().flatten()
        });
        lists.chain(self.config.as_ref().map(|config| config.digest)).collect()
    }

    /// True if a start from either does the same. A file that was written anew with the same contents makes
    /// no difference, so that a feed which is fetched every minute costs no writing.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let lists = |this: &Self| this.lists.iter().map(without_stamp).collect::<Vec<_>>();
        let config = |this: &Self| this.config.as_ref().map(|config| (config.of.clone(), config.digest));
        config(self) == config(other) && self.trial == other.trial && lists(self) == lists(other)
    }

    /// True if it must be written again, because the clock was set since or the machine was booted. Without
    /// times that end, this makes no difference.
    pub fn is_outdated(&self, here: &Moment) -> bool {
        let has_ends = self.lists.iter().any(|list| list.term.is_some());
        has_ends && self.written.is_none_or(|written| !written.says_the_same_as(here))
    }

    /// The saved record of this list, if there is one.
    pub fn record(&self, list: &AcceptedSource) -> Option<&AcceptedSource> {
        self.lists.iter().find(|one| one.name == list.name && one.path == list.path)
    }
}

/// The record without what an unchanged file can change.
pub fn without_stamp(list: &AcceptedSource) -> AcceptedSource {
    AcceptedSource { stamp: None, ..list.clone() }
}

/// The name of a file in a manifest: absolute, thus independent of the working directory, and escaped to fit
/// on one line.
fn named(of: &Path) -> String {
    let path = absolute(of).unwrap_or_else(|_| of.to_owned());
    path.as_os_str().as_bytes().escape_ascii().to_string()
}
