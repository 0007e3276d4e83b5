//! What stands where a list should be, and whether it is believed: read and decided in the thread that reads.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use super::load::Sources;
use super::matching::Known;
use super::trouble::{Instead, Why, explain};
use crate::blocklist::{Accepted, Stamp, Targets};
use crate::clock;
use crate::config::List;
use crate::source::copies::CopyError;
use crate::source::file::FileError;
use crate::source::input::Input;
use crate::source::limits::{Doubt, Seen, Verdict};
use crate::source::patience::Progress;
use crate::source::{Copies, Draft, Limits, ListFile, list};
use crate::text::Explanation;

/// What was found where a list file should be.
#[derive(Debug)]
pub enum Found {
    /// The very file that was read last time.
    Unchanged,
    /// A list that is believed.
    Accepted {
        /// Its targets.
        targets: Targets,
        /// What is known of it, perhaps from when it was called otherwise.
        accepted: Accepted,
        /// Its bytes, if there is no copy of them.
        draft: Option<Draft>,
    },
    /// Something that is not believed.
    Doubted {
        /// Why not, and what is in force instead.
        told: Explanation,
        /// What is to be in force instead; none if what is stays.
        targets: Option<Targets>,
        /// How many lines of that were not understood.
        rejected: Option<u64>,
        /// What is known of it, if it comes from its copy.
        accepted: Option<Accepted>,
    },
}

/// What a look at a file brings.
pub enum Look {
    /// It is as it was.
    Unchanged,
    /// It was read.
    Read {
        /// What it says.
        file: ListFile,
        /// What it was when it was opened.
        stamp: Option<Stamp>,
        /// Its bytes, unless there is a copy of them.
        draft: Option<Draft>,
    },
}

/// Looks at the file of `list`, which was `before`.
pub fn find(list: &List, before: Option<&Known>, is_meant: bool, sources: &mut Sources) -> Found {
    let look = Looking::new(list, before, &sources.copies);
    let looked = sources.lists.read(&list.path, move |progress| look.look(progress)).flatten();
    if let Err(FileError::Denied { path }) = &looked {
        sources.denied.push(path.clone());
    }
    let found = match looked {
        Ok(Look::Unchanged) => return Found::Unchanged,
        Ok(Look::Read { file, stamp, draft }) => Ok((file, stamp, draft)),
        Err(error) => Err(error),
    };
    let judging = Judging { list, before, is_meant, copies: &sources.copies };
    judging.judge(found, before.map(|before| before.entries))
}

/// What the thread that reads has to know.
struct Looking {
    list: List,
    /// What the file was when it was read last.
    before: Option<Stamp>,
    /// What it was when its copy was made.
    copied: Option<Stamp>,
    copies: Copies,
}

impl Looking {
    fn new(list: &List, before: Option<&Known>, copies: &Copies) -> Self {
        let reading = before.map(|before| &before.reading);
        let accepted = reading.and_then(|reading| reading.accepted.as_ref());
        Self {
            before: reading.filter(|reading| reading.path == list.path).and_then(|reading| reading.stamp),
            copied: accepted
                .filter(|accepted| accepted.path == list.path)
                .and_then(|accepted| accepted.stamp),
            list: list.clone(),
            copies: copies.clone(),
        }
    }

    /// The stamp is taken before reading: a file that changes meanwhile is read again next time.
    fn look(self, progress: Progress) -> Result<Look, FileError> {
        let (path, limits) = (&self.list.path, &self.list.limits);
        let stamp = std::fs::metadata(path).ok().map(|file| stamp(&file));
        if stamp.is_some() && stamp == self.before {
            return Ok(Look::Unchanged);
        }
        let input = Input::open(path, limits.most_bytes())?;
        let is_copied = stamp.is_some() && stamp == self.copied;
        let mut draft = (!is_copied).then(|| self.copies.draft());
        let input = input.copied_to(draft.as_mut()).telling(progress);
        let file = list::parse(path, input, limits.max_entries)?;
        Ok(Look::Read { file, stamp, draft })
    }
}

/// What identifies the contents of a file without reading it.
fn stamp(file: &Metadata) -> Stamp {
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()].map(i64::cast_unsigned);
    let [modified, modified_nanos, changed, changed_nanos] = times;
    Stamp([file.dev(), file.ino(), file.size(), modified, modified_nanos, changed, changed_nanos])
}

type Read = Result<(ListFile, Option<Stamp>, Option<Draft>), FileError>;

struct Judging<'a> {
    list: &'a List,
    before: Option<&'a Known>,
    is_meant: bool,
    copies: &'a Copies,
}

impl Judging<'_> {
    fn judge(&self, read: Read, entries: Option<u64>) -> Found {
        let seen = match &read {
            Ok((file, ..)) => file.seen(),
            Err(FileError::Missing { .. }) => Seen::Missing,
            Err(_) => Seen::Unreadable,
        };
        let was_missing = self.accepted().is_some_and(|accepted| accepted.is_missing);
        let is_meant = self.is_meant || seen == Seen::Missing && was_missing;
        let limits: &Limits = &self.list.limits;
        match (limits.judge(seen, entries, is_meant), read) {
            (Verdict::Accept, Ok((file, stamp, draft))) => self.accept(file, stamp, draft),
            (Verdict::Accept, Err(_)) => self.accept_missing(),
            (Verdict::TakePart(doubt), Ok((file, ..))) => {
                let told =
                    self.explain(&Why::Doubt(doubt, file.looks), Instead::Part(file.targets.len() as u64));
                let rejected = Some(file.rejected_count);
                Found::Doubted { told, targets: Some(file.targets), rejected, accepted: None }
            }
            (Verdict::HoldBack(doubt), read) => self.hold_back(doubt, read),
            (Verdict::TakePart(doubt), Err(error)) => self.hold_back(doubt, Err(error)),
        }
    }

    fn accept(&self, file: ListFile, stamp: Option<Stamp>, draft: Option<Draft>) -> Found {
        let targets = file.targets;
        let known = self.accepted().map(|known| Accepted { stamp, ..known.clone() });
        let draft = match (draft, &known) {
            (None, Some(accepted)) => {
                return Found::Accepted { targets, accepted: accepted.clone(), draft: None };
            }
            (draft, _) => draft.unwrap_or_else(Draft::gone),
        };
        let (bytes, checksum) = draft.summary();
        let is_same =
            |known: &Accepted| (known.bytes, known.checksum, known.is_missing) == (bytes, checksum, false);
        if let Some(accepted) = known.filter(|known| is_same(known) && self.copies.has(known)) {
            return Found::Accepted { targets, accepted, draft: None };
        }
        let accepted = Accepted {
            name: self.list.name.as_str().into(),
            path: self.list.path.clone(),
            stamp,
            at: clock::now(),
            entries: targets.len() as u64,
            rejected: file.rejected_count,
            is_missing: false,
            bytes,
            checksum,
        };
        Found::Accepted { targets, accepted, draft: Some(draft) }
    }

    /// It is to be gone.
    fn accept_missing(&self) -> Found {
        let known = self.accepted().filter(|known| known.is_missing).cloned();
        let draft = known.is_none().then(|| self.copies.draft());
        let accepted = known.unwrap_or_else(|| Accepted {
            name: self.list.name.as_str().into(),
            path: self.list.path.clone(),
            stamp: None,
            at: clock::now(),
            entries: 0,
            rejected: 0,
            is_missing: true,
            bytes: 0,
            checksum: crc_of_nothing(),
        });
        Found::Accepted { targets: Targets::default(), accepted, draft }
    }

    /// What is in force stays; at a start, it is what the copy says, if that is good.
    fn hold_back(&self, doubt: Doubt, read: Read) -> Found {
        let why = match &read {
            Ok((file, ..)) => Why::Doubt(doubt, file.looks),
            Err(error) => Why::Error(error),
        };
        let stays = |instead| Found::Doubted {
            told: self.explain(&why, instead),
            targets: None,
            rejected: None,
            accepted: None,
        };
        let (entries, is_running) =
            self.before.map_or((0, false), |before| (before.entries, before.id.is_some()));
        match self.accepted() {
            None if entries > 0 => stays(Instead::Stays(entries)),
            None => stays(Instead::Nothing),
            Some(accepted) if is_running => stays(Instead::Good(accepted)),
            Some(accepted) => match self.copies.read(accepted) {
                Ok(copy) => Found::Doubted {
                    told: self.explain(&why, Instead::Good(accepted)),
                    targets: Some(copy.targets),
                    rejected: Some(copy.rejected_count),
                    accepted: Some(accepted.clone()),
                },
                Err(error) => self.without_copy(read, &error),
            },
        }
    }

    /// What is there counts, however bad it is: there is nothing better.
    fn without_copy(&self, read: Read, error: &CopyError) -> Found {
        tracing::error!("list {}: {error}, and counts as none", self.list.name);
        Judging { before: None, ..*self }.judge(read, None)
    }

    fn accepted(&self) -> Option<&Accepted> {
        self.before?.reading.accepted.as_ref()
    }

    fn explain(&self, why: &Why<'_>, instead: Instead<'_>) -> Explanation {
        explain(self.list.name.as_str(), &self.list.path, why, &instead)
    }
}

fn crc_of_nothing() -> u32 {
    crc32fast::hash(&[])
}
