//! Carries over the state directory of filterd before there were generations: a copy of the configuration, a
//! file with a header for each list, and a note of a trial.
//!
//! First blobs are written, then manifests, `current` last. The old files go when the new filterd is ready.
//! If it is killed before that, the next start does the rest.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::files::{self, CopyError, files_in};
use super::generation::{ConfigText, Generation, TrialHead};
use super::manifest::{FoundGeneration, shift_by};
use super::store::{GenerationName, StateStore};
use crate::blocklist::Timestamp;
use crate::clock::{self, Moment};
use crate::source::digest::Digest;
use crate::source::peaks::Peaks;
use crate::source::reading::{AcceptedSource, EntryTerm, SavedTimes, SourceStamp};

/// The first line of the configuration's copy.
const CONFIG_HEAD: &str =
    "# filterd's copy of the last good configuration, with the file it is of and a checksum:";

/// The first line of the copy of a list.
const LIST_HEAD: &str = "filterd copy of a list, 1";

/// The bytes before the list in its copy.
const LENGTH: usize = 8192;

/// The file extension of the copy of a list on trial.
const TRIED: &str = "trial";

/// What was carried over.
#[derive(Debug, Default)]
pub struct CarriedOver {
    /// Copies that are damaged where they name their lists.
    pub damaged: Vec<PathBuf>,
}

/// The files of an earlier filterd.
struct LandedState<'a> {
    store: &'a StateStore,
    config: PathBuf,
    lists: PathBuf,
    note: PathBuf,
}

/// The note of a trial.
struct LandedNote {
    head: TrialHead,
    stage: LandedStage,
    /// Lists of the earlier configuration with their names on trial, or none if they are gone.
    parted: Vec<(String, Option<String>)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LandedStage {
    On,
    RolledBack,
    Confirmed,
}

impl StateStore {
    /// Carries over an old state directory, if this is one.
    ///
    /// # Errors
    /// If the disk refuses. The old files are unchanged then.
    pub fn carry_over(&self) -> Result<CarriedOver, CopyError> {
        let landed = LandedState::of(self);
        if self.has(GenerationName::Current) || !landed.is_there() {
            return Ok(CarriedOver::default());
        }
        tracing::info!("the state directory is that of an earlier filterd and is carried over");
        landed.carry_over()
    }

    /// Removes the old files. Call this when the new ones are in use.
    pub fn end_carry_over(&self) {
        let landed = LandedState::of(self);
        if self.has(GenerationName::Current) {
            files_in(&landed.lists).for_each(|path| _ = fs::remove_file(path));
            _ = fs::remove_dir(&landed.lists);
            _ = fs::remove_file(&landed.config);
            _ = fs::remove_file(landed.prepared());
        }
    }

    /// Removes the new files again, because this start failed. An earlier filterd would refuse them.
    pub fn undo_carry_over(&self) {
        if LandedState::of(self).is_there() && !self.has(GenerationName::Trial) {
            _ = fs::remove_file(self.path_of(GenerationName::Current));
            self.blobs.files().for_each(|path| _ = fs::remove_file(path));
            _ = fs::remove_dir(&self.blobs.directory);
        }
    }
}

impl<'a> LandedState<'a> {
    fn of(store: &'a StateStore) -> Self {
        Self {
            store,
            config: store.state.join("configuration.yaml"),
            lists: store.state.join("lists"),
            note: store.path_of(GenerationName::Trial),
        }
    }

    fn is_there(&self) -> bool {
        self.config.exists() || self.lists.exists()
    }

    /// The copy of a configuration that was not in force yet.
    fn prepared(&self) -> PathBuf {
        self.config.with_extension("yaml.new")
    }

    fn carry_over(&self) -> Result<CarriedOver, CopyError> {
        let mut carried = CarriedOver::default();
        let note = LandedNote::read(&self.note);
        if note.as_ref().is_some_and(|note| note.stage == LandedStage::Confirmed) {
            self.end_confirmation()?;
        }
        let (tried, kept): (Vec<_>, Vec<_>) = files_in(&self.lists)
            .filter(|path| path.extension().is_none() || is_tried(path))
            .partition(|path| is_tried(path));
        let (lists, tried) = (self.lists_in(kept, &mut carried)?, self.lists_in(tried, &mut carried)?);
        let saved = |text: Option<ConfigText>| text.map(|text| self.store.save_text(&text)).transpose();
        match note {
            Some(LandedNote { head, stage: LandedStage::On, parted }) => {
                let on_trial = |list: &AcceptedSource| {
                    let now = parted.iter().find(|(name, _)| **name == *list.name).map(|(_, now)| now);
                    let name = now.map_or(Some(&*list.name), |now| now.as_deref())?;
                    Some(AcceptedSource { name: name.into(), ..list.clone() })
                };
                let others = lists.iter().filter_map(on_trial);
                let others = others.filter(|list| tried.iter().all(|tried| tried.name != list.name));
                let lists = others.chain(tried.iter().cloned()).collect();
                let config = saved(Self::config_in(&self.prepared()))?;
                let generation = Generation { config, lists, trial: Some(head), written: None };
                self.store.write(GenerationName::Trial, &generation)?;
            }
            Some(LandedNote { head, stage: LandedStage::RolledBack, .. }) => {
                let generation = Generation { trial: Some(head), ..Generation::default() };
                self.store.write(GenerationName::Rejected, &generation)?;
                self.forget_note()?;
            }
            Some(LandedNote { stage: LandedStage::Confirmed, .. }) | None => {}
        }
        let config = saved(Self::config_in(&self.config))?;
        let generation = Generation { config, lists, trial: None, written: None };
        self.store.write(GenerationName::Current, &generation)?;
        Ok(carried)
    }

    /// Gives the copies of a confirmed trial their names, as the earlier filterd would have done.
    fn end_confirmation(&self) -> Result<(), CopyError> {
        let rename = |from: &Path, to: &Path| {
            let renamed = self.store.blobs.disk.rename(from, to);
            renamed.map_err(|error| CopyError::system(from, error))
        };
        if self.prepared().exists() {
            rename(&self.prepared(), &self.config)?;
        }
        for path in files_in(&self.lists).filter(|path| is_tried(path)) {
            rename(&path, &path.with_extension(""))?;
        }
        self.forget_note()
    }

    fn forget_note(&self) -> Result<(), CopyError> {
        let forgotten = self.store.forget(GenerationName::Trial);
        forgotten.map_err(|why| CopyError::system(&self.note, io::Error::other(why)))
    }

    /// The text in a copy of a configuration. None if there is none that is whole.
    fn config_in(path: &Path) -> Option<ConfigText> {
        let whole = fs::read_to_string(path).ok()?;
        let text = parted(&whole).map(|(of, text)| ConfigText { of: of.to_owned(), text: text.to_owned() });
        if text.is_none() {
            tracing::warn!("{}: it is damaged", crate::text::printable::path(path));
        }
        text
    }

    /// Writes the blobs of these copies. Returns the newest of each list.
    fn lists_in(
        &self,
        paths: Vec<PathBuf>,
        carried: &mut CarriedOver,
    ) -> Result<Vec<AcceptedSource>, CopyError> {
        let mut found: Vec<(Timestamp, SystemTime, AcceptedSource)> = Vec::new();
        for path in paths {
            match LandedCopy::open(&path) {
                Ok(copy) => {
                    let written = copy.written;
                    let list = copy.carry_over(self.store)?;
                    found.push((list.at, written, list));
                }
                Err(_) => carried.damaged.push(path),
            }
        }
        found.sort_by_key(|(at, written, _)| (*at, *written));
        let mut lists: Vec<AcceptedSource> = Vec::new();
        for (_, _, list) in found {
            lists.retain(|older| (&older.name, &older.path) != (&list.name, &list.path));
            lists.push(list);
        }
        Ok(lists)
    }
}

/// True if this is the copy of a list on trial.
fn is_tried(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == TRIED)
}

/// The open copy of a list.
struct LandedCopy {
    accepted: AcceptedSource,
    checksum: u32,
    /// The size and checksum of the times behind the list.
    times: Option<(u64, u32)>,
    /// The seconds that were added to its times.
    shift: i64,
    file: File,
    written: SystemTime,
}

impl LandedCopy {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = files::open(path)?;
        let written = file.metadata()?.modified()?;
        let mut header = vec![0; LENGTH];
        file.read_exact(&mut header)?;
        let LandedHeader { mut accepted, checksum, written: moment, times } =
            header_of(&header).ok_or(io::ErrorKind::InvalidData)?;
        let shift = moment.map_or(0, |moment| moment.shift_to(&clock::moment()).seconds);
        shift_by(&mut accepted, shift);
        Ok(Self { accepted, checksum, times, shift, file, written })
    }

    /// Writes its list and its times as blobs. A damaged list gets a damaged blob, so that a start reports it.
    fn carry_over(mut self, store: &StateStore) -> Result<AcceptedSource, CopyError> {
        let list = self.blob(self.accepted.bytes, self.checksum, store)?;
        let times = match self.times {
            Some((bytes, checksum)) if list.is_some() => self.blob(bytes, checksum, store)?,
            Some(_) | None => None,
        };
        let saved = times.map(|digest| SavedTimes {
            digest,
            bytes: self.times.map_or(0, |(bytes, _)| bytes),
            shift: self.shift,
        });
        let digest = match list {
            Some(digest) => digest,
            None => self.damaged_blob(store)?,
        };
        Ok(AcceptedSource { digest, times: saved, ..self.accepted })
    }

    /// A blob that does not match its digest.
    fn damaged_blob(&self, store: &StateStore) -> Result<Digest, CopyError> {
        let digest = Digest::of(format!("{} was damaged", self.accepted.name).as_bytes());
        store.name(store.draft(), digest)?;
        Ok(digest)
    }

    /// Writes the next bytes as a blob, if they match their checksum.
    fn blob(&mut self, bytes: u64, checksum: u32, store: &StateStore) -> Result<Option<Digest>, CopyError> {
        let mut content = Vec::new();
        let read = Read::by_ref(&mut self.file).take(bytes).read_to_end(&mut content);
        let is_whole = read.is_ok() && content.len() as u64 == bytes && crc32fast::hash(&content) == checksum;
        if !is_whole {
            return Ok(None);
        }
        let mut draft = store.draft();
        // A failure is reported by the next step.
        _ = draft.write_all(&content);
        let (_, digest) = draft.summary();
        store.name(draft, digest)?;
        Ok(Some(digest))
    }
}

struct LandedHeader {
    accepted: AcceptedSource,
    checksum: u32,
    written: Option<Moment>,
    times: Option<(u64, u32)>,
}

fn header_of(header: &[u8]) -> Option<LandedHeader> {
    let mut rest = header.strip_prefix(LIST_HEAD.as_bytes())?.strip_prefix(b"\n")?;
    let (sum, length) = value(&mut rest, "sum")?.split_once(' ')?;
    let mut rest = rest.get(..length.parse().ok()?)?;
    if u32::from_str_radix(sum, 16).ok()? != crc32fast::hash(rest) {
        return None;
    }
    let name = value(&mut rest, "name")?.into();
    let stamp = stamp(value(&mut rest, "stamp")?)?;
    let at = Timestamp::from_secs(value(&mut rest, "at")?.parse().ok()?);
    let entries = value(&mut rest, "entries")?.parse().ok()?;
    let rejected = value(&mut rest, "rejected")?.parse().ok()?;
    let is_missing = value(&mut rest, "missing")?.parse().ok()?;
    let bytes = value(&mut rest, "bytes")?.parse().ok()?;
    let checksum = value(&mut rest, "checksum")?.parse().ok()?;
    let length: usize = value(&mut rest, "path")?.parse().ok()?;
    let path = PathBuf::from(OsStr::from_bytes(rest.get(..length)?));
    rest = rest.get(length..)?.strip_prefix(b"\n")?;
    let term = value(&mut rest, "term").and_then(term);
    let meaning = value(&mut rest, "means").and_then(|words| words.parse().ok());
    let written = value(&mut rest, "written").and_then(|words| words.parse().ok());
    let times = value(&mut rest, "times").and_then(extent);
    let peaks: Option<Peaks> = value(&mut rest, "peaks").and_then(|words| words.parse().ok());
    let accepted = AcceptedSource {
        name,
        path,
        stamp,
        at,
        entries,
        rejected,
        is_missing,
        bytes,
        digest: Digest::of(&[]),
        term,
        meaning,
        peaks: peaks.unwrap_or_default(),
        times: None,
    };
    Some(LandedHeader { accepted, checksum, written, times })
}

fn term(words: &str) -> Option<EntryTerm> {
    let (ttl, from) = words.split_once(' ')?;
    let ttl = Duration::from_secs(ttl.parse().ok()?);
    Some(EntryTerm { ttl, from: Timestamp::from_secs(from.parse().ok()?) })
}

fn extent(words: &str) -> Option<(u64, u32)> {
    let (bytes, checksum) = words.split_once(' ')?;
    Some((bytes.parse().ok()?, u32::from_str_radix(checksum, 16).ok()?))
}

fn stamp(words: &str) -> Option<Option<SourceStamp>> {
    if words.is_empty() {
        return Some(None);
    }
    let words: Vec<u64> = words.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    Some(Some(SourceStamp(words.try_into().ok()?)))
}

/// The value of the next line, which must begin with this key.
fn value<'a>(rest: &mut &'a [u8], key: &str) -> Option<&'a str> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let value = std::str::from_utf8(&rest[..end]).ok()?.strip_prefix(key)?.strip_prefix(' ')?;
    *rest = &rest[end + 1..];
    Some(value)
}

/// The file that a configuration's copy names, and its text, if the checksum is right.
fn parted(whole: &str) -> Option<(&str, &str)> {
    let (line, text) = whole.strip_prefix(CONFIG_HEAD)?.strip_prefix("\n# ")?.split_once('\n')?;
    let (of, checksum) = line.rsplit_once(' ')?;
    let is_whole = u32::from_str_radix(checksum, 16) == Ok(crc32fast::hash(text.as_bytes()));
    is_whole.then_some((of, text))
}

impl LandedNote {
    /// Reads the note. None if there is none, or if it is a manifest already. A damaged note counts as that of
    /// a trial whose time is over.
    fn read(path: &Path) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        if !matches!(super::manifest::read(&bytes, &clock::moment()), FoundGeneration::Damaged(_)) {
            return None;
        }
        let over = || Self { head: TrialHead::damaged(), stage: LandedStage::On, parted: Vec::new() };
        Some(std::str::from_utf8(&bytes).ok().and_then(Self::parse).unwrap_or_else(over))
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('\n')?;
        let (line, lists) = text.split_once('\n').unwrap_or((text, ""));
        let mut words = line.splitn(5, ' ');
        let (boot, end) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let stage = match words.next()? {
            "false" => LandedStage::On,
            "true" => LandedStage::RolledBack,
            "confirmed" => LandedStage::Confirmed,
            _ => return None,
        };
        let file = u32::from_str_radix(words.next()?, 16).ok()?;
        let head = TrialHead { boot, end, by: words.next()?.to_owned(), file };
        let parted = lists.lines().filter_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
            ["gone", name] => Some((name.to_owned(), None)),
            ["renamed", name, now] => Some((name.to_owned(), Some(now.to_owned()))),
            _ => None,
        });
        Some(Self { head, stage, parted: parted.collect() })
    }
}
