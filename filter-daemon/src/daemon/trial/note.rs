//! The note of a trial for the next start. It is on disk before the trial begins, and says until when the
//! trial may last, in the time of one boot.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::reload::PartedLists;
use crate::clock;
use crate::text::printable;

/// The name in the state directory.
const FILE: &str = "trial";

/// The kernel's identifier of this boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// More than any note has: a line for each of a thousand lists, with two names of 32 characters.
const LONGEST: u64 = 128 << 10;

/// The place of the note.
#[derive(Clone, Debug)]
pub struct NotePath(PathBuf);

/// The contents of the note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialNote {
    /// The boot whose clock `end` refers to.
    pub boot: String,
    /// In milliseconds of that boot.
    pub end: i64,
    /// The stage of the trial.
    pub stage: TrialStage,
    /// The checksum of the configuration on trial. After a rollback: of its file at that moment.
    pub checksum: u32,
    /// The user who asked for the trial.
    pub by: String,
    /// The lists of the previous configuration that are gone or renamed. An older filterd reads these lines
    /// as part of `by`.
    pub parted: PartedLists,
}

/// The stage of a trial, as the note stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialStage {
    /// The trial is on until its time is over.
    On,
    /// The previous configuration is in force again.
    RolledBack,
    /// The trial was confirmed. The next start moves the copies that are not in place yet.
    Confirmed,
}

impl TrialStage {
    /// The word in the note. An older filterd knows the first two.
    const fn word(self) -> &'static str {
        match self {
            Self::On => "false",
            Self::RolledBack => "true",
            Self::Confirmed => "confirmed",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::On, Self::RolledBack, Self::Confirmed].into_iter().find(|stage| stage.word() == word)
    }
}

impl TrialNote {
    /// The note of a trial that ends after this time.
    pub fn ending(left: Duration, checksum: u32, by: &str, parted: PartedLists) -> Self {
        let left = i64::try_from(left.as_millis()).unwrap_or(i64::MAX);
        let end = since_boot().saturating_add(left);
        let by = printable::on_one_line(by).to_string();
        Self { boot: boot(), end, stage: TrialStage::On, checksum, by, parted }
    }

    /// The same note, with the time over.
    pub fn over(&self) -> Self {
        Self { end: 0, ..self.clone() }
    }

    /// The time left. None if it is over, or if the note is of another boot.
    pub fn left(&self) -> Option<Duration> {
        let left = u64::try_from(self.end.saturating_sub(since_boot())).ok().filter(|left| *left > 0)?;
        let is_this_boot = !self.boot.is_empty() && self.boot == boot();
        (is_this_boot && self.stage == TrialStage::On).then(|| Duration::from_millis(left))
    }

    fn text(&self) -> String {
        let Self { boot, end, stage, checksum, by, parted } = self;
        format!("{boot} {end} {} {checksum:08x} {by}\n{}", stage.word(), parted.lines())
    }

    fn read(text: &str) -> Option<Self> {
        let text = text.strip_suffix('\n')?;
        let (line, lists) = text.split_once('\n').unwrap_or((text, ""));
        let mut words = line.splitn(5, ' ');
        Some(Self {
            boot: words.next()?.to_owned(),
            end: words.next()?.parse().ok()?,
            stage: TrialStage::of(words.next()?)?,
            checksum: u32::from_str_radix(words.next()?, 16).ok()?,
            by: words.next()?.to_owned(),
            parted: PartedLists::read(lists),
        })
    }
}

impl NotePath {
    pub fn in_directory(state: &Path) -> Self {
        Self(state.join(FILE))
    }

    /// Whether there is a note.
    pub fn is_there(&self) -> bool {
        self.0.exists()
    }

    /// The note, if there is one. A damaged note counts as that of a trial whose time is over.
    pub fn read(&self) -> Option<TrialNote> {
        use std::io::Read;
        let nothing = |by: &str| TrialNote {
            boot: String::new(),
            end: 0,
            stage: TrialStage::On,
            checksum: 0,
            by: by.to_owned(),
            parted: PartedLists::default(),
        };
        let mut text = String::new();
        match File::open(&self.0).and_then(|file| file.take(LONGEST).read_to_string(&mut text)) {
            Ok(_) => {
                Some(TrialNote::read(&text).unwrap_or_else(|| nothing("somebody (the note is damaged)")))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => Some(nothing(&format!("somebody (the note cannot be read: {error})"))),
        }
    }

    /// Writes the note. It is on disk when this returns.
    pub fn write(&self, note: &TrialNote) -> Result<(), String> {
        let written = self.replace(note).or_else(|error| self.overwrite(note).map_err(|_| error));
        written.map_err(|error| self.refused(&error))
    }

    /// Writes over the existing note, for a disk with no space for another. A half-written note is damaged,
    /// and thus counts as that of a trial whose time is over.
    fn overwrite(&self, note: &TrialNote) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&self.0)?;
        let (text, room) = (note.text(), file.metadata()?.len());
        if text.len() as u64 > room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)?;
        file.sync_all()
    }

    fn replace(&self, note: &TrialNote) -> io::Result<()> {
        let new = self.0.with_extension("new");
        _ = fs::remove_file(&new);
        let replaced = write_aside(&new, note).and_then(|()| fs::rename(&new, &self.0));
        if replaced.is_err() {
            // An unfinished file would take up space on a full disk.
            _ = fs::remove_file(&new);
        }
        replaced?;
        self.sync()
    }

    /// Removes the note. A note that says "confirmed" is harmless: a start removes it.
    pub fn remove(&self) -> Result<(), String> {
        if !self.is_there() {
            return Ok(());
        }
        let removed = fs::remove_file(&self.0).and_then(|()| self.sync());
        let is_harmless = || self.read().is_none_or(|note| note.stage == TrialStage::Confirmed);
        removed.or_else(|error| if is_harmless() { Ok(()) } else { Err(self.refused(&error)) })
    }

    fn refused(&self, error: &io::Error) -> String {
        format!("{}: {error}", printable::path(&self.0))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(self.0.parent().unwrap_or(Path::new(".")))?.sync_all()
    }
}

/// The time since boot in milliseconds.
fn since_boot() -> i64 {
    i64::try_from(clock::since_1970().as_millis()).unwrap_or(i64::MAX).saturating_sub(clock::offset())
}

/// The identifier of this boot, empty if the kernel does not report it.
fn boot() -> String {
    fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned()
}

fn write_aside(new: &Path, note: &TrialNote) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    file.write_all(note.text().as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, NotePath) {
        let directory = tempfile::tempdir().unwrap();
        let place = NotePath::in_directory(directory.path());
        (directory, place)
    }

    #[test]
    fn note_is_read_back_until_removed() {
        let (_directory, place) = place();
        assert_eq!(place.read(), None);
        let note = TrialNote::ending(
            Duration::from_secs(60),
            7,
            "alice as root (filterd reload)",
            PartedLists::read("gone drop"),
        );
        place.write(&note).unwrap();
        assert_eq!(place.read(), Some(note.clone()));
        assert!(note.left().is_some_and(|left| left > Duration::from_secs(50)));
        for stage in [TrialStage::RolledBack, TrialStage::Confirmed] {
            let other = TrialNote { stage, ..note.clone() };
            place.write(&other).unwrap();
            assert_eq!((other.left(), place.read()), (None, Some(other)));
        }
        place.remove().unwrap();
        assert_eq!(place.read(), None);
    }

    /// Like a full disk, where an existing note can still be overwritten.
    #[test]
    fn note_is_overwritten_when_disk_is_full() {
        let (directory, place) = place();
        let note = TrialNote::ending(Duration::from_secs(60), 7, "alice", PartedLists::default());
        place.write(&note).unwrap();
        fs::create_dir_all(directory.path().join(FILE).with_extension("new").join("in the way")).unwrap();
        for other in [note.over(), TrialNote { stage: TrialStage::RolledBack, ..note.over() }] {
            place.write(&other).unwrap();
            assert_eq!(place.read(), Some(other));
        }
        place.write(&TrialNote { by: "somebody with a longer name".into(), ..note }).unwrap_err();
        assert!(place.read().is_some_and(|note| note.stage == TrialStage::RolledBack), "it would take room");
    }

    #[test]
    fn failed_note_leaves_no_file() {
        let (directory, place) = place();
        // A directory that is not empty cannot be replaced.
        fs::create_dir_all(directory.path().join(FILE).join("full")).unwrap();
        place
            .write(&TrialNote::ending(Duration::from_secs(60), 7, "alice", PartedLists::default()))
            .unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn trial_ends_in_time_and_with_its_boot() {
        let note = TrialNote::ending(Duration::from_secs(60), 7, "alice", PartedLists::default());
        assert_eq!(TrialNote { end: note.end - 60_000, ..note.clone() }.left(), None);
        assert_eq!(TrialNote { boot: "another".into(), ..note.clone() }.left(), None);
        assert_eq!(TrialNote { boot: String::new(), ..note.clone() }.left(), None);
        assert_eq!(TrialNote { stage: TrialStage::RolledBack, ..note }.left(), None);
    }

    #[test]
    fn damaged_note_means_an_ended_trial() {
        let (_directory, place) = place();
        for damaged in ["", "\n", "boot 7 false 00000007 by", "boot seven false 00000007 by\n", "\u{ff}"] {
            fs::write(&place.0, damaged).unwrap();
            assert_eq!(place.read().map(|note| note.left()), Some(None), "{damaged:?}");
        }
    }
}
