//! What stands where a list should be, and whether it is believed: read and decided in the thread that reads.

use std::path::Path;

use super::look::{self, Contents, Look, Looking};
use super::matching::Known;
use super::sources::Sources;
use crate::blocklist::{Accepted, Peaks, Stamp, Targets};
use crate::clock;
use crate::config::List;
use crate::source::copies::CopyError;
use crate::source::file::FileError;
use crate::source::limits::{Doubt, Seen, SizeBefore, Verdict};
use crate::source::trouble::{Instead, Why};
use crate::source::{Copies, Draft, Limits, ListFile, Rejected, Remarks};
use crate::text::{Explanation, printable};

/// What was found where a list file should be.
#[derive(Debug)]
pub enum Found {
    /// The very file that was read last time.
    Unchanged,
    /// It was not fetched yet: what is in force stays.
    Awaited,
    /// A list that is believed.
    Accepted {
        /// Its targets.
        targets: Targets,
        /// What is known of it, perhaps from when it was called otherwise.
        accepted: Accepted,
        /// Its bytes, if there is no copy of them.
        draft: Option<Draft>,
        /// How it was read: with other words in the configuration it is read otherwise.
        read: ReadAs,
        /// What is to be told of the database that it was chosen out of.
        remarks: Remarks,
    },
    /// Something that is not believed.
    Doubted {
        /// Why not, and what is in force instead.
        told: Explanation,
        /// What is to be in force instead; none if what is stays.
        targets: Option<Targets>,
        /// How that was read.
        read: Option<ReadAs>,
        /// What is known of it, if it comes from its copy.
        accepted: Option<Accepted>,
    },
}

/// How a list was read, for those who ask.
#[derive(Clone, Debug, Default)]
pub struct ReadAs {
    /// How many of its lines were not understood.
    pub rejected: u64,
    /// The first of them.
    pub examples: Vec<String>,
    /// How many of its targets were special, and taken out.
    pub special: u64,
    /// What it was read as.
    pub format: &'static str,
    /// What of a folder was not read.
    pub left_out: Vec<String>,
}

impl ReadAs {
    fn of(file: &ListFile) -> Self {
        Self {
            rejected: file.rejected_count,
            examples: file.rejected.iter().take(MOST_EXAMPLES).map(Rejected::within).collect(),
            special: file.special,
            format: file.format.name(),
            left_out: file.left_out.clone(),
        }
    }
}

/// More lines of a list than these tell nobody more; `check` shows them.
const MOST_EXAMPLES: usize = 3;

/// Looks at the file of `list`, which was `before`.
pub fn find(list: &List, before: Option<&Known>, is_meant: bool, sources: &mut Sources) -> Found {
    // Whoever accepts a list as it is accepts its length, too: it is compared with no other from now on.
    let unread = before.filter(|before| is_meant && before.has_peaks()).map(Known::unread);
    let before = unread.as_ref().or(before);
    let file = sources.file_of(list);
    let look = Looking::new(list, file, before, sources.writes.then(|| sources.copies.clone()));
    let looked = sources.lists.read(&list.path, move |progress| look.look(progress)).flatten();
    let found = match looked {
        Ok(Look::Unchanged) => return Found::Unchanged,
        Ok(Look::Read(contents)) => Ok(checked(*contents, list, sources)),
        Err(FileError::Missing { .. }) if list.feed.is_some() => return awaited(list, before, sources),
        Err(error) => Err(error),
    };
    let nothing = if sources.has_lost_one { Instead::Lost } else { Instead::Nothing };
    let judging = Judging { list, before, is_meant, sources, nothing };
    let is_denied = matches!(found, Err(FileError::Denied { .. }));
    // What is read in another way is no change of the file, unless that has changed, too: it is looked at closely then. What is
    // to be allowed is read in another way than what is blocked.
    let stamp = found.as_ref().ok().and_then(|(_, stamp, _)| *stamp);
    let is_alike = |before: &&Known| match before.id {
        Some(_) if before.reversed_by(list).is_none() && before.reading.how != list.how.to_string() => {
            before.is_of_another_file(stamp) && !before.is_of_another_choice(list)
        }
        Some(_) | None => !before.is_of_another_choice(list),
    };
    // A row that was made for a list of which nothing came yet is nothing that was loaded.
    let was_loaded = |before: &&Known| before.entries > 0 || before.reading.accepted.is_some();
    let alike = before.filter(is_alike).filter(was_loaded);
    let found = judging.judge(found, alike.map(|before| size_of(before, list, &sources.copies)));
    if is_denied && !found.has_copy() {
        // A refresh reads one of them again.
        if !sources.denied.contains(&list.path) {
            sources.denied.push(list.path.clone());
        }
    }
    found
}

/// The same, known for what it is where a server sent something else than a list.
fn checked((file, stamp, draft): Contents, list: &List, sources: &Sources) -> Contents {
    let Some(feed) = &list.feed else { return (file, stamp, draft) };
    let content_type = sources.content_type_of(feed);
    (file.fetched(content_type.as_deref()), stamp, draft)
}

/// How long `list` was before.
fn size_of(before: &Known, list: &List, copies: &Copies) -> SizeBefore {
    let accepted = before.reading.accepted.as_ref();
    let alike = accepted.filter(|_| before.is_read_as(list));
    SizeBefore {
        entries: before.entries,
        largest: alike.map_or(0, |accepted| accepted.peaks.largest(clock::now())),
        has_open_end: accepted.and_then(|accepted| copies.has_open_end(accepted)),
    }
}

impl Found {
    /// What is to be on the list, if that may be something else than is on it now.
    pub fn targets(&self) -> Option<&Targets> {
        match self {
            Self::Accepted { targets, .. } => Some(targets),
            Self::Doubted { targets, .. } => targets.as_ref(),
            Self::Unchanged | Self::Awaited => None,
        }
    }

    /// Is it what a copy says?
    fn has_copy(&self) -> bool {
        matches!(self, Self::Doubted { accepted: Some(_), .. })
    }
}

/// What stands for a list of which nothing was fetched yet, or not from where it is fetched from now on: what is in force
/// stays; at a start, it is what its copy says. That is told where it does not mean what the configuration says.
fn awaited(list: &List, before: Option<&Known>, sources: &Sources) -> Found {
    let told = |instead| sources.explain(list, &Why::Awaited, instead);
    let is_reversed = before.is_some_and(|before| before.reversed_by(list).is_some());
    if let Some(before) = before.filter(|before| is_reversed && before.id.is_some()) {
        let told = told(before.instead());
        return Found::Doubted { told, targets: None, read: None, accepted: None };
    }
    let copy =
        before.filter(|before| before.id.is_none()).and_then(|before| before.reading.accepted.as_ref());
    let Some(accepted) = copy else { return Found::Awaited };
    match sources.copies.read(accepted, &list.how) {
        Ok(file) if is_reversed => Found::Doubted {
            told: told(accepted.into()),
            read: Some(ReadAs::of(&file)),
            targets: Some(file.targets),
            accepted: Some(accepted.clone()),
        },
        Ok(file) => {
            let (read, accepted) = (ReadAs::of(&file), Accepted { stamp: None, ..accepted.clone() });
            let ListFile { targets, remarks, .. } = file;
            Found::Accepted { targets, accepted, draft: None, read, remarks }
        }
        Err(error) => {
            let path = printable::path(&sources.copies.path(accepted)).to_string();
            tracing::error!("list \"{}\": {error}; the copy is ignored: {path}", list.name);
            Found::Awaited
        }
    }
}

/// What stands for a list of which nothing was in force, and nothing is to be again; its file may say anything.
pub fn nothing_again(list: &List) -> Found {
    let (name, shown) = (list.name.as_str(), printable::path(&list.path));
    let message = format!(
        "list \"{name}\" is not loaded, as before an unconfirmed reload; {shown} may have other entries"
    );
    let told = Explanation::new(message, "to read it: filterd reload");
    Found::Doubted { told, targets: Some(Targets::default()), read: None, accepted: None }
}

/// What the copy of `list` says, for one that is to be what it was; its file may say anything.
pub fn restored(list: &List, path: &Path, copy: Option<&Known>, read: impl Fn(&Accepted) -> Copied) -> Found {
    let accepted = copy.and_then(|copy| copy.reading.accepted.as_ref());
    if accepted.is_none() && list.feed.is_some() {
        return Found::Awaited;
    }
    let (name, shown) = (list.name.as_str(), printable::path(&list.path));
    let read = accepted.map(|accepted| (accepted, read(accepted)));
    let Some((accepted, Ok(file))) = read else {
        let why = read.map_or_else(|| "there is no copy of it".to_owned(), |(_, read)| told_of(read.err()));
        let message = format!("list \"{name}\" could not be rolled back and stays as it is: {why}");
        let told = Explanation::new(message, "to read its file: filterd reload");
        return Found::Doubted { told, targets: None, read: None, accepted: None };
    };
    let stamp = copy.and_then(|copy| copy.reading.stamp).or(accepted.stamp);
    if stamp.is_some() && stamp == look::stamp_of(list, path) {
        let (read, remarks) = (ReadAs::of(&file), file.remarks);
        return Found::Accepted {
            targets: file.targets,
            accepted: Accepted { stamp, ..accepted.clone() },
            draft: None,
            read,
            remarks,
        };
    }
    let message =
        format!("list \"{name}\" is as it was before an unconfirmed reload; {shown} may have other entries");
    Found::Doubted {
        told: Explanation::new(message, "to read it: filterd reload"),
        read: Some(ReadAs::of(&file)),
        targets: Some(file.targets),
        accepted: Some(accepted.clone()),
    }
}

fn told_of(error: Option<CopyError>) -> String {
    error.map_or_else(String::new, |error| error.to_string())
}

type Read = Result<Contents, FileError>;

/// What a copy says.
type Copied = Result<ListFile, CopyError>;

struct Judging<'a> {
    list: &'a List,
    before: Option<&'a Known>,
    is_meant: bool,
    sources: &'a Sources,
    /// What is told where there is no copy: why that is so, where it is known.
    nothing: Instead,
}

impl Judging<'_> {
    fn judge(&self, read: Read, before: Option<SizeBefore>) -> Found {
        let read = read.map(|contents| self.known_as_list(contents));
        let seen = match &read {
            Ok((file, ..)) => file.seen(),
            Err(FileError::Missing { .. }) => Seen::Missing,
            Err(_) => Seen::Unreadable,
        };
        let may_be_missing = self.accepted().is_some_and(|accepted| accepted.may_be_missing(&self.list.path));
        let is_meant = self.is_meant || seen == Seen::Missing && may_be_missing;
        let limits: &Limits = &self.list.limits;
        let verdict = match limits.judge(seen, before, is_meant) {
            // However it is read from now on: what is in force is better than a part.
            Verdict::TakePart(doubt) if self.is_in_force() => Verdict::HoldBack(doubt),
            verdict @ (Verdict::Accept | Verdict::HoldBack(_) | Verdict::TakePart(_)) => verdict,
        };
        match (verdict, read) {
            (Verdict::Accept, Ok((file, stamp, draft))) => self.accept(file, stamp, draft),
            (Verdict::Accept, Err(_)) => self.accept_missing(),
            (Verdict::TakePart(doubt), Ok((file, ..))) => {
                let looks = file.described(doubt, self.list.feed.is_some());
                let told = self.explain(&Why::Doubt(doubt, &looks), Instead::Part(file.targets.len() as u64));
                let read = Some(ReadAs::of(&file));
                Found::Doubted { told, targets: Some(file.targets), read, accepted: None }
            }
            (Verdict::HoldBack(doubt), read) => self.hold_back(doubt, read),
            (Verdict::TakePart(doubt), Err(error)) => self.hold_back(doubt, Err(error)),
        }
    }

    fn accept(&self, file: ListFile, stamp: Option<Stamp>, draft: Option<Draft>) -> Found {
        let read = ReadAs::of(&file);
        let (targets, rejected, remarks) = (file.targets, read.rejected, file.remarks);
        let entries = targets.len() as u64;
        let peaks = self.peaks(entries);
        let known = self.accepted().map(|known| {
            let peaks = peaks.clone();
            Accepted { stamp, entries, peaks, ..known.clone() }
        });
        let draft = match (draft, &known) {
            (None, Some(accepted)) => {
                let accepted = accepted.clone();
                return Found::Accepted { targets, accepted, draft: None, read, remarks };
            }
            (draft, _) => draft.unwrap_or_else(Draft::gone),
        };
        let (bytes, checksum) = draft.summary();
        let is_same =
            |known: &Accepted| (known.bytes, known.checksum, known.is_missing) == (bytes, checksum, false);
        if let Some(accepted) = known.filter(|known| is_same(known) && self.sources.copies.has(known)) {
            return Found::Accepted { targets, accepted, draft: None, read, remarks };
        }
        let accepted = Accepted {
            name: self.list.name.as_str().into(),
            path: self.list.path.clone(),
            stamp,
            at: clock::now(),
            entries,
            rejected,
            is_missing: false,
            bytes,
            checksum,
            term: None,
            meaning: None,
            peaks,
        };
        Found::Accepted { targets, accepted, draft: Some(draft), read, remarks }
    }

    /// How long the list was before, where it has so many entries from now on. What the operator accepts, and what is read in
    /// another way, is compared with nothing of before.
    fn peaks(&self, entries: u64) -> Peaks {
        let alike = self.before.filter(|before| !self.is_meant && before.is_read_as(self.list));
        let known = alike.and_then(|before| before.reading.accepted.as_ref());
        known.map_or_else(Peaks::default, |known| known.peaks.replaced(known.entries, entries, clock::now()))
    }

    /// The very bytes that were accepted before are a list, whatever they look like.
    fn known_as_list(&self, (file, stamp, draft): Contents) -> Contents {
        let is_accepted = self.accepted().is_some_and(|known| match &draft {
            Some(draft) => (known.bytes, known.checksum) == draft.summary(),
            None => known.stamp.is_some() && known.stamp == stamp,
        });
        let page = file.page.filter(|_| !is_accepted);
        (ListFile { page, ..file }, stamp, draft)
    }

    /// It is to be gone.
    fn accept_missing(&self) -> Found {
        let is_known =
            |known: &&Accepted| known.may_be_missing(&self.list.path) && self.sources.copies.has(known);
        let known = self.accepted().filter(is_known).cloned();
        let draft = known.is_none().then(|| self.sources.draft());
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
            term: None,
            meaning: None,
            peaks: Peaks::default(),
        });
        let (targets, read, remarks) = (Targets::default(), ReadAs::default(), Remarks::default());
        Found::Accepted { targets, accepted, draft, read, remarks }
    }

    /// What is in force stays; at a start, it is what the copy says, if that is good.
    fn hold_back(&self, doubt: Doubt, read: Read) -> Found {
        let looks = read.as_ref().map(|(file, ..)| file.described(doubt, self.list.feed.is_some()));
        let why = match (&read, &looks) {
            (Err(error), _) => Why::Error(error),
            (Ok(_), looks) => Why::Doubt(doubt, looks.as_deref().unwrap_or_default()),
        };
        let stays = |instead| Found::Doubted {
            told: self.explain(&why, instead),
            targets: None,
            read: None,
            accepted: None,
        };
        let (entries, is_running) =
            self.before.map_or((0, false), |before| (before.entries, before.id.is_some()));
        let goes_on = self.before.is_some_and(|before| before.turned.is_some());
        match self.accepted() {
            None if entries > 0 => stays(Instead::Stays(entries)),
            None => stays(self.nothing),
            // With another time to live all of it counts anew, what was over included: only the copy knows that.
            Some(accepted) if is_running && !self.stays_otherwise() => stays(accepted.into()),
            Some(accepted) => match self.sources.copies.read(accepted, &self.list.how) {
                Ok(copy) => Found::Doubted {
                    told: self.explain(&why, Instead::of(accepted, copy.targets.len() as u64)),
                    read: Some(ReadAs::of(&copy)),
                    targets: Some(copy.targets),
                    accepted: Some(accepted.clone()),
                },
                Err(error) => {
                    self.log(&error);
                    if goes_on || is_running {
                        stays(accepted.into())
                    } else {
                        self.without_copy(read, &error)
                    }
                }
            },
        }
    }

    /// Is what is to be on it in force, if in another reading, perhaps?
    fn is_in_force(&self) -> bool {
        let is_it = |before: &Known| {
            before.id.is_some() && before.entries > 0 && !before.is_of_another_choice(self.list)
        };
        self.before.is_some_and(is_it)
    }

    fn stays_otherwise(&self) -> bool {
        self.before.is_some_and(|before| before.reading.ttl != self.list.ttl)
    }

    fn log(&self, error: &CopyError) {
        let path = self.accepted().map(|accepted| self.sources.copies.path(accepted)).unwrap_or_default();
        tracing::error!(
            "list \"{}\": {error}; the copy is ignored: {}",
            self.list.name,
            printable::path(&path)
        );
    }

    /// What is there counts, however bad it is: there is nothing better.
    fn without_copy(&self, read: Read, error: &CopyError) -> Found {
        let is_damaged = matches!(error, CopyError::Damaged);
        let nothing = if is_damaged { Instead::Damaged } else { Instead::Nothing };
        Judging { before: None, nothing, ..*self }.judge(read, None)
    }

    fn accepted(&self) -> Option<&Accepted> {
        self.before?.reading.accepted.as_ref()
    }

    fn explain(&self, why: &Why<'_>, instead: Instead) -> Explanation {
        self.sources.explain(self.list, why, instead)
    }
}

fn crc_of_nothing() -> u32 {
    crc32fast::hash(&[])
}
