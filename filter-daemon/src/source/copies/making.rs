//! Many copies are made together: written, brought to disk by several at once, given their names, and then the names are brought
//! to disk at one stroke. One after the other, a thousand of them take many times as long: each waits for the disk twice.

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use super::draft::Whole;
use super::{Bytes, Copies, CopyError, ToKeep, behind, taken_in};
use crate::blocklist::{Accepted, Times};

/// Files that are brought to disk at once: those who wait together share what the disk does. More made it no faster.
const AT_ONCE: usize = 4;

/// Copies that are made in one go: each is an open file.
const TOGETHER: usize = 64;

/// What needs nothing but its name.
enum Unnamed {
    /// It is written.
    Whole(Whole),
    /// It is there, by this name, and is to have the other.
    There(PathBuf, PathBuf),
}

impl Copies {
    /// Makes these copies, each `at` its path. Where there can be no new one, that of before is `kept`. Tells what became of each.
    pub(super) fn make_all(
        &self,
        wanted: Vec<ToKeep>,
        kept: &mut Vec<Accepted>,
        at: fn(&Self, &Accepted) -> PathBuf,
    ) -> Vec<Result<(), CopyError>> {
        let (mut outcomes, mut known) = (Vec::new(), Vec::new());
        let mut taken = taken_in(&self.directory);
        let mut wanted = wanted.into_iter();
        while wanted.len() > 0 {
            let written = wanted.by_ref().take(TOGETHER).map(|ToKeep { accepted, bytes, times, before }| {
                let written = self.write(&accepted, (bytes, times), at(self, &accepted), &mut taken);
                known.push((accepted, before));
                written
            });
            let written = written.collect();
            outcomes.extend(to_disk(written).into_iter().map(|one| one.and_then(Unnamed::take_name)));
        }
        self.sync_names(&mut outcomes);
        for ((accepted, before), outcome) in known.into_iter().zip(&outcomes) {
            kept.extend(if outcome.is_ok() { Some(accepted) } else { before });
        }
        outcomes
    }

    /// Makes the copies of these out of what is there of them, each `at` its path. Tells of which that failed.
    pub(super) fn make_anew(
        &self,
        copies: Vec<Accepted>,
        bytes: fn(Accepted) -> Bytes,
        at: fn(&Self, &Accepted) -> PathBuf,
    ) -> Vec<(Accepted, CopyError)> {
        let wanted = copies.iter().map(|accepted| ToKeep {
            accepted: accepted.clone(),
            bytes: bytes(accepted.clone()),
            times: None,
            before: None,
        });
        let outcomes = self.make_all(wanted.collect(), &mut Vec::new(), at);
        let all = copies.into_iter().zip(outcomes);
        all.filter_map(|(accepted, outcome)| Some((accepted, outcome.err()?))).collect()
    }

    /// A name is on disk when its directory is: else none is that was given.
    fn sync_names(&self, outcomes: &mut [Result<(), CopyError>]) {
        if outcomes.iter().all(Result::is_err) {
            return;
        }
        let Err(error) = self.sync() else { return };
        outcomes.iter_mut().filter(|outcome| outcome.is_ok()).for_each(|one| *one = Err(error.again()));
    }

    /// Writes this copy, of which all files together have so many bytes before.
    fn write(
        &self,
        accepted: &Accepted,
        (bytes, times): (Bytes, Option<Times>),
        path: PathBuf,
        taken: &mut u64,
    ) -> Result<Unnamed, CopyError> {
        let (mut draft, times) = match bytes {
            Bytes::Draft(draft) => (draft, times),
            Bytes::Before(before) => {
                let (draft, told) = self.draft_of(&before, accepted)?;
                *taken += draft.length();
                (draft, times.or(told))
            }
            Bytes::Tried if self.is_tried(accepted) => {
                return Ok(Unnamed::There(self.tried(accepted), path));
            }
            Bytes::Tried => return Err(CopyError::Gone),
        };
        let behind = times.as_ref().map_or(0, behind::length);
        *taken += behind;
        if *taken > self.most {
            *taken -= behind + draft.length();
            draft.refuse();
        }
        draft.finish(accepted, times.as_ref(), path).map(Unnamed::Whole)
    }
}

impl Unnamed {
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

type Written = Result<Unnamed, CopyError>;

/// Brings all of these to disk, several at once.
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
            // Where there can be no other thread, this one does it all.
            _ = thread::Builder::new().name("filterd-copies".to_owned()).spawn_scoped(scope, sync);
        }
        sync();
    });
    written
}
