//! A copy of a list with an end says when it was written, in whose time, and what the clock on the wall said then: whoever
//! starts in another boot counts from that moment. A clock that was set since, or a boot in between, would be lost on him, so the
//! moment is said anew, as the journal gets a row then.

use std::io;
use std::path::{Path, PathBuf};

use super::{Copies, CopyError, header, is_unfinished, open};
use crate::blocklist::Accepted;
use crate::clock::{self, Moment};

impl Copies {
    /// Writes copies anew, those on trial, too, from whose moment others would not count as from this one. Tells
    /// of which lists that failed.
    #[must_use]
    pub fn renew(&self) -> Vec<(Accepted, CopyError)> {
        let here = clock::moment();
        let old = self.files().into_iter().filter_map(|path| Some((self.old(&path, &here)?, path)));
        let old: Vec<(Accepted, PathBuf)> = old.collect();
        let mut outcomes: Vec<_> =
            old.iter().map(|(accepted, path)| self.write_anew(accepted, path.clone())).collect();
        self.sync_names(&mut outcomes);
        let failed = old.into_iter().zip(outcomes);
        failed.filter_map(|((accepted, _), outcome)| Some((accepted, outcome.err()?))).collect()
    }

    /// What is known of the copy there, if its moment is no good any more and matters.
    fn old(&self, path: &Path, here: &Moment) -> Option<Accepted> {
        let is_at =
            |accepted: &Accepted| [self.path(accepted), self.tried(accepted)].contains(&path.to_owned());
        let (accepted, written) = Some(path).filter(|path| !is_unfinished(path)).and_then(|path| {
            open(path).and_then(|mut file| header::read_with_moment(&mut file, here)).ok()
        })?;
        let is_good = written.is_some_and(|written| written.says_the_same_as(here));
        (accepted.term.is_some() && !is_good && is_at(&accepted)).then_some(accepted)
    }

    fn write_anew(&self, accepted: &Accepted, path: PathBuf) -> Result<(), CopyError> {
        let system = |source: io::Error| CopyError::System { path: path.clone(), source };
        let draft = self.draft_from(open(&path).map_err(system)?, self.taken())?;
        let whole = draft.finish(accepted, path)?;
        whole.sync()?;
        whole.take_name()
    }
}
