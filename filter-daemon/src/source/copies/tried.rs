//! Copies of lists on trial. They are kept next to the earlier copies, which a rollback restores. A start
//! that continues the trial reads them, and a confirmation makes them replace the earlier ones.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Copies, CopyError, CopySource, CopyToKeep, FoundCopies};
use crate::source::reading::AcceptedSource;

/// The file extension of a copy on trial.
const TRIED: &str = "trial";

impl Copies {
    /// Finds all copies on trial.
    #[must_use]
    pub fn find_tried(&self) -> FoundCopies {
        self.find_at(has_its_name, Self::tried)
    }

    /// True if this list has a copy on trial.
    #[must_use]
    pub fn is_tried(&self, accepted: &AcceptedSource) -> bool {
        self.tried(accepted).exists()
    }

    /// Makes these copies on trial, and leaves the earlier copies unchanged. Removes all other copies on
    /// trial except those in `kept`. Returns one result for each new copy.
    pub fn try_out(
        &self,
        wanted: Vec<CopyToKeep>,
        mut kept: Vec<AcceptedSource>,
    ) -> Vec<Result<(), CopyError>> {
        let outcomes = self.make_all(wanted, &mut kept, Self::tried);
        let kept: HashSet<PathBuf> = kept.iter().map(|accepted| self.tried(accepted)).collect();
        let over = self.files().into_iter().filter(|path| has_its_name(path) && !kept.contains(path));
        over.for_each(|path| _ = fs::remove_file(path));
        outcomes
    }

    /// Makes all copies on trial permanent, after a filterd that had confirmed the trial died before it did
    /// so. Returns the lists that failed.
    #[must_use]
    pub fn take_all_tried(&self) -> Vec<(AcceptedSource, CopyError)> {
        self.make_anew(self.find_tried().copies, |_| CopySource::Tried, Self::path)
    }

    /// The path of this list's copy on trial, whether it exists or not.
    pub(super) fn tried(&self, accepted: &AcceptedSource) -> PathBuf {
        self.path(accepted).with_extension(TRIED)
    }
}

pub(super) fn has_its_name(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == TRIED)
}
