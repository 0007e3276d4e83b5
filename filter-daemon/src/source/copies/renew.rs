//! A copy of a list with an end says when it was written, in whose time, and what the clock on the wall said then: whoever
//! starts in another boot counts from that moment. A clock that was set since, or a boot in between, would be lost on him, so the
//! moment is said anew, as the journal gets a row then.

use std::path::Path;

use super::{Bytes, Copies, CopyError, header, open};
use crate::blocklist::Accepted;
use crate::clock::{self, Moment};

impl Copies {
    /// Writes copies anew, those on trial, too, from whose moment others would not count as from this one. Tells of which lists
    /// that failed.
    #[must_use]
    pub fn renew(&self) -> Vec<(Accepted, CopyError)> {
        let here = clock::moment();
        let is_old = |accepted: &Accepted, path: &Path| accepted.term.is_some() && !says_when(path, &here);
        let (mut kept, mut tried) = (self.find().copies, self.find_tried().copies);
        kept.retain(|accepted| is_old(accepted, &self.path(accepted)));
        tried.retain(|accepted| is_old(accepted, &self.tried(accepted)));
        let mut failed = self.make_anew(kept, Bytes::before, Self::path);
        failed.extend(self.make_anew(tried, Bytes::before, Self::tried));
        failed
    }

    /// Writes these copies anew, which are of other files by now, with the same in them. Tells of which lists that failed.
    #[must_use]
    pub fn know_files(&self, lists: Vec<Accepted>) -> Vec<(Accepted, CopyError)> {
        self.make_anew(lists, Bytes::before, Self::path)
    }
}

/// Does whoever counts from when this copy was written come to the same as from here?
fn says_when(path: &Path, here: &Moment) -> bool {
    let read = open(path).and_then(|mut file| header::read_all(&mut file, here));
    read.is_ok_and(|header| header.written.is_some_and(|written| written.says_the_same_as(here)))
}
