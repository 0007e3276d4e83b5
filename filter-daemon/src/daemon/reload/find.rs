//! Reads the file of a list and decides whether to accept it, in the thread that reads.

use std::path::Path;

use super::look::{self, FileCheck, FileChecker, FileContents};
use super::matching::KnownList;
use super::sources::ListSources;
use crate::blocklist::Targets;
use crate::clock;
use crate::config::ListConfig;
use crate::source::digest::Digest;
use crate::source::file::FileError;
use crate::source::limits::{Doubt, ListVerdict, SizeBefore, SourceFinding};
use crate::source::peaks::Peaks;
use crate::source::reading::{AcceptedSource, SourceStamp};
use crate::source::trouble::{HoldBackReason, ListFallback};
use crate::source::{Limits, ListFile, RejectedLine, Remarks};
use crate::state::{CopyError, Draft, StateStore};
use crate::text::{Explanation, printable};

/// The result of reading a list file.
#[derive(Debug)]
pub enum ListFinding {
    /// The file is the one that was read last time.
    Unchanged,
    /// The list was not fetched yet, and what is in force stays.
    Awaited,
    /// The list was accepted.
    Accepted {
        targets: Targets,
        /// The record of the list, perhaps still under its earlier name.
        accepted: AcceptedSource,
        /// Its bytes, if there is no copy of them.
        draft: Option<Draft>,
        /// How it was read. Other options in the configuration can change this.
        read: ReadReport,
        /// Remarks about the database that it was selected from.
        remarks: Remarks,
    },
    /// The file was not accepted.
    Doubted {
        /// Why not, and what is in force instead.
        told: Explanation,
        /// The entries to use instead. None if those in force stay.
        targets: Option<Targets>,
        /// How these entries were read.
        read: Option<ReadReport>,
        /// The record of the list, if the entries come from its copy.
        accepted: Option<AcceptedSource>,
    },
}

/// How a list was read, for reports.
#[derive(Clone, Debug, Default)]
pub struct ReadReport {
    /// The number of lines that were not understood.
    pub rejected: u64,
    /// The first of these lines.
    pub examples: Vec<String>,
    /// The number of special targets, which were left out.
    pub special: u64,
    /// The format that was detected or configured.
    pub format: &'static str,
    /// The files of a folder that were not read.
    pub left_out: Vec<String>,
}

impl ReadReport {
    fn of(file: &ListFile) -> Self {
        Self {
            rejected: file.rejected_count,
            examples: file.rejected.iter().take(MOST_EXAMPLES).map(RejectedLine::within).collect(),
            special: file.special,
            format: file.format.name(),
            left_out: file.left_out.clone(),
        }
    }
}

/// More examples would not help. `check` shows all.
const MOST_EXAMPLES: usize = 3;

/// Reads the file of `list`, which was `before`.
pub fn find(
    list: &ListConfig,
    before: Option<&KnownList>,
    is_meant: bool,
    sources: &mut ListSources,
) -> ListFinding {
    // An operator who accepts a list also accepts its length, so it is not compared with earlier ones.
    let unread = before.filter(|before| is_meant && before.has_peaks()).map(KnownList::unread);
    let before = unread.as_ref().or(before);
    let file = sources.file_of(list);
    let look = FileChecker::new(list, file, before, sources.writes.then(|| sources.store.clone()));
    let looked = sources.lists.read(&list.path, move |progress| look.look(progress)).flatten();
    let found = match looked {
        Ok(FileCheck::Unchanged) => return ListFinding::Unchanged,
        Ok(FileCheck::Read(contents)) => Ok(checked(*contents, list, sources)),
        Err(FileError::Missing { .. }) if list.feed.is_some() => return awaited(list, before, sources),
        Err(error) => Err(error),
    };
    let nothing = if sources.has_lost_one { ListFallback::Lost } else { ListFallback::Nothing };
    let judging = ListDecision { list, before, is_meant, sources, nothing };
    let is_denied = matches!(found, Err(FileError::Denied { .. }));
    // A list that is only read differently is not compared with its earlier size, unless its file changed
    // too. A list that exchanges block and allow is always read differently, but is compared nevertheless.
    let stamp = found.as_ref().ok().and_then(|(_, stamp, _)| *stamp);
    let is_alike = |before: &&KnownList| {
        before.is_read_as(list) || before.reversed_by(list).is_some() || before.is_of_another_file(stamp)
    };
    // An empty row made for a list that was never read does not count as loaded.
    let was_loaded = |before: &&KnownList| before.entries > 0 || before.reading.accepted.is_some();
    let alike = before.filter(is_alike).filter(was_loaded);
    let found = judging.judge(found, alike.map(|before| size_of(before, list, &sources.store)));
    if is_denied && !found.has_copy() {
        // A refresh may read the same file again.
        if !sources.denied.contains(&list.path) {
            sources.denied.push(list.path.clone());
        }
    }
    found
}

/// Marks the contents if a server sent something else than a list.
fn checked((file, stamp, draft): FileContents, list: &ListConfig, sources: &ListSources) -> FileContents {
    let Some(feed) = &list.feed else { return (file, stamp, draft) };
    let content_type = sources.content_type_of(feed);
    (file.fetched(content_type.as_deref()), stamp, draft)
}

/// The earlier size of `list`.
fn size_of(before: &KnownList, list: &ListConfig, store: &StateStore) -> SizeBefore {
    let accepted = before.reading.accepted.as_ref();
    let alike = accepted.filter(|_| before.is_read_as(list));
    SizeBefore {
        entries: before.entries,
        largest: alike.map_or(0, |accepted| accepted.peaks.largest(clock::now())),
        has_open_end: accepted.and_then(|accepted| store.open_end(accepted)),
        is_another_choice: before.is_of_another_choice(list),
    }
}

impl ListFinding {
    /// The entries to put on the list, unless it surely stays as it is.
    pub fn targets(&self) -> Option<&Targets> {
        match self {
            Self::Accepted { targets, .. } => Some(targets),
            Self::Doubted { targets, .. } => targets.as_ref(),
            Self::Unchanged | Self::Awaited => None,
        }
    }

    /// Whether the entries come from a copy.
    fn has_copy(&self) -> bool {
        matches!(self, Self::Doubted { accepted: Some(_), .. })
    }
}

/// The result for a list that was not fetched yet, or not from its present URL. The list in force stays, and
/// a start uses the copy. If this contradicts the configuration's block or allow, it is reported.
fn awaited(list: &ListConfig, before: Option<&KnownList>, sources: &ListSources) -> ListFinding {
    let told = |instead| sources.explain(list, &HoldBackReason::Awaited, instead);
    let is_reversed = before.is_some_and(|before| before.reversed_by(list).is_some());
    if let Some(before) = before.filter(|before| is_reversed && before.is_in_force()) {
        let told = told(before.instead());
        return ListFinding::Doubted { told, targets: None, read: None, accepted: None };
    }
    let copy = before.filter(|before| !before.is_in_force());
    let copy = copy.and_then(|before| before.reading.accepted.as_ref());
    let Some(accepted) = copy else { return ListFinding::Awaited };
    match sources.store.read_list(accepted, &list.how) {
        Ok(file) if is_reversed => ListFinding::Doubted {
            told: told(accepted.into()),
            read: Some(ReadReport::of(&file)),
            targets: Some(file.targets),
            accepted: Some(accepted.clone()),
        },
        Ok(file) => {
            let (read, accepted) =
                (ReadReport::of(&file), AcceptedSource { stamp: None, ..accepted.clone() });
            let ListFile { targets, remarks, .. } = file;
            ListFinding::Accepted { targets, accepted, draft: None, read, remarks }
        }
        Err(error) => {
            let path = printable::path(&sources.store.path(accepted)).to_string();
            tracing::error!("list \"{}\": {error}; the copy is ignored: {path}", list.name);
            ListFinding::Awaited
        }
    }
}

/// A reload reads the list, but also applies the configuration that was not confirmed, so it is made on trial.
const READ_AGAIN: &str =
    "to read it, and apply the change that was rolled back: filterd reload --confirm 60s";

/// The result for a list that was not loaded before and is not to be loaded again, whatever its file
/// contains.
pub fn nothing_again(list: &ListConfig) -> ListFinding {
    let (name, shown) = (list.name.as_str(), printable::path(&list.path));
    let message = format!(
        "list \"{name}\" is not loaded, as before an unconfirmed reload; {shown} may have other entries"
    );
    let told = Explanation::new(message, READ_AGAIN);
    ListFinding::Doubted { told, targets: Some(Targets::default()), read: None, accepted: None }
}

/// The result for a list that is restored from its copy, whatever its file contains.
pub fn restored(
    list: &ListConfig,
    path: &Path,
    copy: Option<&KnownList>,
    read: impl Fn(&AcceptedSource) -> CopyRead,
) -> ListFinding {
    let accepted = copy.and_then(|copy| copy.reading.accepted.as_ref());
    if accepted.is_none() && list.feed.is_some() {
        return ListFinding::Awaited;
    }
    let (name, shown) = (list.name.as_str(), printable::path(&list.path));
    let read = accepted.map(|accepted| (accepted, read(accepted)));
    let Some((accepted, Ok(file))) = read else {
        let why = read.map_or_else(|| "there is no copy of it".to_owned(), |(_, read)| told_of(read.err()));
        let message = format!("list \"{name}\" could not be rolled back and stays as it is: {why}");
        let told = Explanation::new(
            message,
            "to read its file, and apply the change that was rolled back: filterd reload --confirm 60s",
        );
        return ListFinding::Doubted { told, targets: None, read: None, accepted: None };
    };
    let stamp = copy.and_then(|copy| copy.reading.stamp).or(accepted.stamp);
    if stamp.is_some() && stamp == look::stamp_of(list, path) {
        let (read, remarks) = (ReadReport::of(&file), file.remarks);
        return ListFinding::Accepted {
            targets: file.targets,
            accepted: AcceptedSource { stamp, ..accepted.clone() },
            draft: None,
            read,
            remarks,
        };
    }
    let message =
        format!("list \"{name}\" is as it was before an unconfirmed reload; {shown} may have other entries");
    ListFinding::Doubted {
        told: Explanation::new(message, READ_AGAIN),
        read: Some(ReadReport::of(&file)),
        targets: Some(file.targets),
        accepted: Some(accepted.clone()),
    }
}

fn told_of(error: Option<CopyError>) -> String {
    error.map_or_else(String::new, |error| error.to_string())
}

type FileRead = Result<FileContents, FileError>;

/// The contents of a copy.
type CopyRead = Result<ListFile, CopyError>;

struct ListDecision<'a> {
    list: &'a ListConfig,
    before: Option<&'a KnownList>,
    is_meant: bool,
    sources: &'a ListSources,
    /// The fallback to report where there is no copy, with the reason if known.
    nothing: ListFallback,
}

impl ListDecision<'_> {
    fn judge(&self, read: FileRead, before: Option<SizeBefore>) -> ListFinding {
        let read = read.map(|contents| self.known_as_list(contents));
        let seen = match &read {
            Ok((file, ..)) => file.seen(),
            Err(FileError::Missing { .. }) => SourceFinding::Missing,
            Err(_) => SourceFinding::Unreadable,
        };
        let may_be_missing = self.accepted().is_some_and(|accepted| accepted.may_be_missing(&self.list.path));
        let is_meant = self.is_meant || seen == SourceFinding::Missing && may_be_missing;
        let limits: &Limits = &self.list.limits;
        let verdict = match limits.judge(seen, before, is_meant) {
            // However it is read now, the list in force is better than a part.
            ListVerdict::TakePart(doubt) if self.is_in_force() => ListVerdict::HoldBack(doubt),
            verdict @ (ListVerdict::Accept | ListVerdict::HoldBack(_) | ListVerdict::TakePart(_)) => verdict,
        };
        match (verdict, read) {
            (ListVerdict::Accept, Ok((file, stamp, draft))) => self.accept(file, stamp, draft),
            (ListVerdict::Accept, Err(_)) => self.accept_missing(),
            (ListVerdict::TakePart(doubt), Ok((file, ..))) => {
                let looks = file.described(doubt, self.list.feed.is_some());
                let told = self.explain(
                    &HoldBackReason::Doubt(doubt, &looks),
                    ListFallback::Part(file.targets.len() as u64),
                );
                let read = Some(ReadReport::of(&file));
                ListFinding::Doubted { told, targets: Some(file.targets), read, accepted: None }
            }
            (ListVerdict::HoldBack(doubt), read) => self.hold_back(doubt, read),
            (ListVerdict::TakePart(doubt), Err(error)) => self.hold_back(doubt, Err(error)),
        }
    }

    fn accept(&self, file: ListFile, stamp: Option<SourceStamp>, draft: Option<Draft>) -> ListFinding {
        let read = ReadReport::of(&file);
        let (targets, rejected, remarks) = (file.targets, read.rejected, file.remarks);
        let entries = targets.len() as u64;
        let peaks = self.peaks(entries);
        let known = self.accepted().map(|known| {
            let peaks = peaks.clone();
            AcceptedSource { stamp, entries, peaks, ..known.clone() }
        });
        let draft = match (draft, &known) {
            (None, Some(accepted)) => {
                let accepted = accepted.clone();
                return ListFinding::Accepted { targets, accepted, draft: None, read, remarks };
            }
            (draft, _) => draft.unwrap_or_else(Draft::gone),
        };
        let (bytes, digest) = draft.summary();
        let is_same =
            |known: &AcceptedSource| (known.bytes, known.digest, known.is_missing) == (bytes, digest, false);
        if let Some(accepted) = known.filter(|known| is_same(known) && self.sources.store.has_copy(known)) {
            return ListFinding::Accepted { targets, accepted, draft: None, read, remarks };
        }
        let accepted = AcceptedSource {
            name: self.list.name.as_str().into(),
            path: self.list.path.clone(),
            stamp,
            at: clock::now(),
            entries,
            rejected,
            is_missing: false,
            bytes,
            digest,
            term: None,
            meaning: None,
            peaks,
            times: None,
        };
        ListFinding::Accepted { targets, accepted, draft: Some(draft), read, remarks }
    }

    /// The earlier sizes of the list, if it has this many entries now. Earlier sizes do not count if the
    /// operator accepted the list, or if it is read differently.
    fn peaks(&self, entries: u64) -> Peaks {
        let is_alike =
            |before: &&KnownList| before.is_read_as(self.list) && !before.is_of_another_choice(self.list);
        let alike = self.before.filter(|_| !self.is_meant).filter(is_alike);
        let known = alike.and_then(|before| before.reading.accepted.as_ref());
        known.map_or_else(Peaks::default, |known| known.peaks.replaced(known.entries, entries, clock::now()))
    }

    /// Bytes that were accepted before count as a list, whatever they look like.
    fn known_as_list(&self, (file, stamp, draft): FileContents) -> FileContents {
        let is_accepted = self.accepted().is_some_and(|known| match &draft {
            Some(draft) => (known.bytes, known.digest) == draft.summary(),
            None => known.stamp.is_some() && known.stamp == stamp,
        });
        let page = file.page.filter(|_| !is_accepted);
        (ListFile { page, ..file }, stamp, draft)
    }

    /// Accepts that the file is missing.
    fn accept_missing(&self) -> ListFinding {
        let is_known = |known: &&AcceptedSource| {
            known.may_be_missing(&self.list.path) && self.sources.store.has_copy(known)
        };
        let known = self.accepted().filter(is_known).cloned();
        let draft = known.is_none().then(|| self.sources.draft());
        let accepted = known.unwrap_or_else(|| AcceptedSource {
            name: self.list.name.as_str().into(),
            path: self.list.path.clone(),
            stamp: None,
            at: clock::now(),
            entries: 0,
            rejected: 0,
            is_missing: true,
            bytes: 0,
            digest: Digest::of(&[]),
            term: None,
            meaning: None,
            peaks: Peaks::default(),
            times: None,
        });
        let (targets, read, remarks) = (Targets::default(), ReadReport::default(), Remarks::default());
        ListFinding::Accepted { targets, accepted, draft, read, remarks }
    }

    /// Keeps what is in force. A start uses the copy, if that is good.
    fn hold_back(&self, doubt: Doubt, read: FileRead) -> ListFinding {
        let looks = read.as_ref().map(|(file, ..)| file.described(doubt, self.list.feed.is_some()));
        let why = match (&read, &looks) {
            (Err(error), _) => HoldBackReason::Error(error),
            (Ok(_), looks) => HoldBackReason::Doubt(doubt, looks.as_deref().unwrap_or_default()),
        };
        let stays = |instead| ListFinding::Doubted {
            told: self.explain(&why, instead),
            targets: None,
            read: None,
            accepted: None,
        };
        let (entries, is_running) =
            self.before.map_or((0, false), |before| (before.entries, before.is_in_force()));
        let goes_on = self.before.is_some_and(|before| before.continues.turned().is_some());
        match self.accepted() {
            None if entries > 0 => stays(ListFallback::Stays(entries)),
            None => stays(self.nothing),
            // A changed `ttl` counts anew for all entries, expired ones too. Only the copy still has those.
            Some(accepted) if is_running && !self.stays_otherwise() => stays(accepted.into()),
            Some(accepted) => match self.sources.store.read_list(accepted, &self.list.how) {
                Ok(copy) => ListFinding::Doubted {
                    told: self.explain(&why, ListFallback::of(accepted, copy.targets.len() as u64)),
                    read: Some(ReadReport::of(&copy)),
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

    /// Whether the list is in force, although perhaps read differently.
    fn is_in_force(&self) -> bool {
        let is_it = |before: &KnownList| {
            before.is_in_force() && before.entries > 0 && !before.is_of_another_choice(self.list)
        };
        self.before.is_some_and(is_it)
    }

    fn stays_otherwise(&self) -> bool {
        self.before.is_some_and(|before| before.reading.ttl != self.list.ttl)
    }

    fn log(&self, error: &CopyError) {
        let path = self.accepted().map(|accepted| self.sources.store.path(accepted)).unwrap_or_default();
        tracing::error!(
            "list \"{}\": {error}; the copy is ignored: {}",
            self.list.name,
            printable::path(&path)
        );
    }

    /// Uses the file as it is, however bad: without a copy there is nothing better.
    fn without_copy(&self, read: FileRead, error: &CopyError) -> ListFinding {
        let is_damaged = matches!(error, CopyError::Damaged);
        let nothing = if is_damaged { ListFallback::Damaged } else { ListFallback::Nothing };
        ListDecision { before: None, nothing, ..*self }.judge(read, None)
    }

    fn accepted(&self) -> Option<&AcceptedSource> {
        self.before?.reading.accepted.as_ref()
    }

    fn explain(&self, why: &HoldBackReason<'_>, instead: ListFallback) -> Explanation {
        self.sources.explain(self.list, why, instead)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::blocklist::{Blocklist, Change, Meaning, Origin, Polarity};
    use crate::config;
    use crate::plan::Continued;
    use crate::source::reading::SourceReading;
    use crate::state::{ListToSave, SaveTarget};

    const NETWORKS: &str = "2|apnic|20261120|2|19830613|20261119|+1000\n\
                            apnic|*|ipv4|*|2|summary\n\
                            apnic|CN|ipv4|1.0.1.0|256|20110414|allocated\n\
                            apnic|RU|ipv4|1.0.9.0|256|20110414|allocated\n";

    #[test]
    fn list_is_read_again_only_on_trial_after_a_rollback() {
        let text = b"lists: [{name: drop, path: /nowhere/drop.txt}]".to_vec();
        let list = config::parse(Path::new("f.yaml"), text).unwrap().lists.remove(0);
        let ListFinding::Doubted { told, .. } = nothing_again(&list) else { panic!("it is loaded") };
        let remedy = told.remedy.unwrap();
        assert!(
            remedy.contains("rolled back") && remedy.ends_with("filterd reload --confirm 60s"),
            "{remedy}"
        );
    }

    #[test]
    fn other_country_without_networks_keeps_the_list() {
        let home = tempfile::tempdir().unwrap();
        let database = home.path().join("delegated-apnic-latest");
        fs::write(&database, NETWORKS).unwrap();
        let list = |keys: &str| {
            let text = format!("lists: [{{name: far, {keys}, database: {}}}]", database.display());
            config::parse(Path::new("f.yaml"), text.into_bytes()).unwrap().lists.remove(0)
        };
        let mut sources = ListSources::of(home.path());
        let first = find(&list("country: [CN]"), None, false, &mut sources);
        let ListFinding::Accepted { accepted, draft: Some(draft), .. } = first else { panic!("{first:?}") };
        let saved = ListToSave { accepted: accepted.clone(), draft: Some(draft), times: None, before: None };
        sources.store.save(SaveTarget::default(), vec![saved]).lists.remove(0).unwrap();
        let reading = SourceReading {
            path: database.clone(),
            stamp: accepted.stamp,
            how: list("country: [CN]").how.to_string(),
            accepted: Some(accepted),
            ..SourceReading::default()
        };
        let meaning = Meaning::plain(Polarity::Block);
        let make = Change::Make { name: "far".into(), origin: Origin::File, meaning };
        let id = Blocklist::default().apply(&make, clock::now()).unwrap().made.unwrap();
        let (continues, name) = (Continued::Same(id), "far".into());
        let running = KnownList { continues, name, meaning: None, entries: 1, reading };
        let copy = KnownList { continues: Continued::New, ..running.clone() };
        let mut found =
            |keys: &str, before, is_meant| find(&list(keys), Some(before), is_meant, &mut sources);
        for before in [&running, &copy] {
            let kept = found("country: [DE]", before, false);
            let ListFinding::Doubted { told, .. } = &kept else { panic!("{kept:?}") };
            assert!(
                told.message.contains("its database (apnic's allocations) has no network of DE"),
                "{told:?}"
            );
            assert!(kept.targets().is_none_or(|kept| kept.len() == 1), "{kept:?}");
            for (keys, is_meant) in [("country: [DE]", true), ("country: [DE], min_entries: 0", false)] {
                let emptied = found(keys, before, is_meant);
                assert_eq!(emptied.targets().map(Targets::len), Some(0), "{keys}");
                assert!(matches!(emptied, ListFinding::Accepted { .. }), "{keys}");
            }
            let other = found("country: [RU, DE]", before, false);
            let ListFinding::Accepted { targets, accepted, .. } = &other else { panic!("{other:?}") };
            assert!(targets.len() == 1 && accepted.peaks.is_empty(), "{other:?}");
        }
    }
}
