//! Makes many copies together: writes them, flushes several to disk at once, renames them, and then flushes
//! the directory once. One after the other, a thousand copies would take many times as long, because each
//! would wait for the disk twice.

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use super::draft::FinishedDraft;
use super::{Copies, CopyError, CopySource, CopyToKeep, behind, taken_in};
use crate::blocklist::EntryTimes;
use crate::source::reading::AcceptedSource;

/// The number of files that are flushed at the same time: they share the disk's work. More threads were not
/// faster.
const AT_ONCE: usize = 4;

/// The number of copies made in one pass. Each of them is an open file.
const TOGETHER: usize = 64;

/// A copy that lacks only its final name.
enum UnnamedCopy {
    Whole(FinishedDraft),
    /// A file that exists by the first name and gets the second one.
    There(PathBuf, PathBuf),
}

impl Copies {
    /// Makes these copies, each at the path that `at` gives. If a new copy cannot be made, the earlier one is
    /// added to `kept`. Returns one result for each copy.
    pub(super) fn make_all(
        &self,
        wanted: Vec<CopyToKeep>,
        kept: &mut Vec<AcceptedSource>,
        at: fn(&Self, &AcceptedSource) -> PathBuf,
    ) -> Vec<Result<(), CopyError>> {
        let (mut outcomes, mut known) = (Vec::new(), Vec::new());
        let mut taken = taken_in(&self.directory);
        let mut wanted = wanted.into_iter();
        while wanted.len() > 0 {
            let written =
                wanted.by_ref().take(TOGETHER).map(|CopyToKeep { accepted, bytes, times, before }| {
                    let written = self.write(&accepted, (bytes, times), at(self, &accepted), &mut taken);
                    known.push((accepted, before));
                    written
                });
            let written = written.collect();
            outcomes.extend(to_disk(written).into_iter().map(|one| one.and_then(UnnamedCopy::take_name)));
        }
        self.sync_names(&mut outcomes);
        for ((accepted, before), outcome) in known.into_iter().zip(&outcomes) {
            kept.extend(if outcome.is_ok() { Some(accepted) } else { before });
        }
        outcomes
    }

    /// Makes new copies from existing ones, each at the path that `at` gives. Returns the copies that failed.
    pub(super) fn make_anew(
        &self,
        copies: Vec<AcceptedSource>,
        bytes: fn(AcceptedSource) -> CopySource,
        at: fn(&Self, &AcceptedSource) -> PathBuf,
    ) -> Vec<(AcceptedSource, CopyError)> {
        let wanted = copies.iter().map(|accepted| CopyToKeep {
            accepted: accepted.clone(),
            bytes: bytes(accepted.clone()),
            times: None,
            before: None,
        });
        let outcomes = self.make_all(wanted.collect(), &mut Vec::new(), at);
        let all = copies.into_iter().zip(outcomes);
        all.filter_map(|(accepted, outcome)| Some((accepted, outcome.err()?))).collect()
    }

    /// A name is on disk only when its directory is. If that fails, all successful results become errors.
    fn sync_names(&self, outcomes: &mut [Result<(), CopyError>]) {
        if outcomes.iter().all(Result::is_err) {
            return;
        }
        let Err(error) = self.sync() else { return };
        outcomes.iter_mut().filter(|outcome| outcome.is_ok()).for_each(|one| *one = Err(error.again()));
    }

    /// Writes this copy. `taken` is the total size of all files before.
    fn write(
        &self,
        accepted: &AcceptedSource,
        (bytes, times): (CopySource, Option<EntryTimes>),
        path: PathBuf,
        taken: &mut u64,
    ) -> Result<UnnamedCopy, CopyError> {
        let (mut draft, times) = match bytes {
            CopySource::Draft(draft) => (draft, times),
            CopySource::Before(before) => {
                let (draft, told) = self.draft_of(&before, accepted)?;
                *taken += draft.length();
                (draft, times.or(told))
            }
            CopySource::Tried if self.is_tried(accepted) => {
                return Ok(UnnamedCopy::There(self.tried(accepted), path));
            }
            CopySource::Tried => return Err(CopyError::Gone),
        };
        let behind = times.as_ref().map_or(0, behind::length);
        *taken += behind;
        if *taken > self.most {
            *taken -= behind + draft.length();
            draft.refuse();
        }
        draft.finish(accepted, times.as_ref(), path).map(UnnamedCopy::Whole)
    }
}

impl UnnamedCopy {
    fn sync(&self) -> Result<(), CopyError> {
        match self {
            Self::Whole(whole) => whole.sync(),
            Self::There(..) => Ok(()),
        }
    }

    fn take_name(self) -> Result<(), CopyError> {
        match self {
            Self::Whole(whole) => whole.take_name(),
            Self::There(from, path) => {
                std::fs::rename(from, &path).map_err(|source| CopyError::System { path, source })
            }
        }
    }
}

type Written = Result<UnnamedCopy, CopyError>;

/// Flushes all of these to disk, several at a time.
fn to_disk(mut written: Vec<Written>) -> Vec<Written> {
    let left = Mutex::new(written.iter_mut());
    let next = || left.lock().ok()?.next();
    let sync = || {
        while let Some(one) = next() {
            let failed = one.as_ref().ok().and_then(|unnamed| unnamed.sync().err());
            if let Some(error) = failed {
                *one = Err(error);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..AT_ONCE {
            // If no other thread can be started, this thread does all the work.
            _ = thread::Builder::new().name("filterd-copies".to_owned()).spawn_scoped(scope, sync);
        }
        sync();
    });
    written
}
