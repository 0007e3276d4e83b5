//! Copies of what is on trial. They lie beside those of before, which stay what is put back; a start that goes on with the
//! trial has them, and when it is confirmed they take the places of the others.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Bytes, Copies, CopyError, Found, ToKeep};
use crate::blocklist::Accepted;

/// What ends the name of such a copy.
const TRIED: &str = "trial";

impl Copies {
    /// All there are of what is on trial.
    #[must_use]
    pub fn find_tried(&self) -> Found {
        self.find_at(has_its_name, Self::tried)
    }

    /// Is there one of this?
    #[must_use]
    pub fn is_tried(&self, accepted: &Accepted) -> bool {
        self.tried(accepted).exists()
    }

    /// Makes these copies, leaves those of before as they are, and removes what was on trial but for those `kept`. Tells what
    /// became of each.
    pub fn try_out(&self, wanted: Vec<ToKeep>, mut kept: Vec<Accepted>) -> Vec<Result<(), CopyError>> {
        let outcomes = self.make_all(wanted, &mut kept, Self::tried);
        let kept: HashSet<PathBuf> = kept.iter().map(|accepted| self.tried(accepted)).collect();
        let over = self.files().into_iter().filter(|path| has_its_name(path) && !kept.contains(path));
        over.for_each(|path| _ = fs::remove_file(path));
        outcomes
    }

    /// All that was tried has come to stay, by a filterd that died before it had done so. Tells of which lists that failed.
    #[must_use]
    pub fn take_all_tried(&self) -> Vec<(Accepted, CopyError)> {
        self.make_anew(self.find_tried().copies, |_| Bytes::Tried, Self::path)
    }

    /// Where the copy of this is, if it is on trial.
    pub(super) fn tried(&self, accepted: &Accepted) -> PathBuf {
        self.path(accepted).with_extension(TRIED)
    }
}

pub(super) fn has_its_name(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == TRIED)
}
