//! Renews the moment of writing in copies of lists whose entries expire. A start in another boot converts
//! times by that moment. The conversion would be wrong if the clock was set since, or another boot came in
//! between. The moment is then written again, and the journal gets a new row as well.

use std::path::Path;

use super::{Copies, CopyError, CopySource, header, open};
use crate::clock::{self, Moment};
use crate::source::reading::AcceptedSource;

impl Copies {
    /// Writes copies again, including those on trial, if their recorded moment would convert times
    /// differently from now. Returns the lists that failed.
    #[must_use]
    pub fn renew(&self) -> Vec<(AcceptedSource, CopyError)> {
        let here = clock::moment();
        let is_old =
            |accepted: &AcceptedSource, path: &Path| accepted.term.is_some() && !says_when(path, &here);
        let (mut kept, mut tried) = (self.find().copies, self.find_tried().copies);
        kept.retain(|accepted| is_old(accepted, &self.path(accepted)));
        tried.retain(|accepted| is_old(accepted, &self.tried(accepted)));
        let mut failed = self.make_anew(kept, CopySource::before, Self::path);
        failed.extend(self.make_anew(tried, CopySource::before, Self::tried));
        failed
    }

    /// Writes these copies again, whose lists now come from other files with the same content. Returns the
    /// lists that failed.
    #[must_use]
    pub fn know_files(&self, lists: Vec<AcceptedSource>) -> Vec<(AcceptedSource, CopyError)> {
        self.make_anew(lists, CopySource::before, Self::path)
    }
}

/// True if times convert to the same values from the moment in this copy as from `here`.
fn says_when(path: &Path, here: &Moment) -> bool {
    let read = open(path).and_then(|mut file| header::read_all(&mut file, here));
    read.is_ok_and(|header| header.written.is_some_and(|written| written.says_the_same_as(here)))
}
