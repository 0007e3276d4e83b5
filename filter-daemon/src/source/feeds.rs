//! What was fetched of feeds, in the state directory: for each a file of its bytes, unpacked, which is read as any list file
//! is, and a note beside it of what is known of them. Both come by rename, so that whoever reads finds the one or the other
//! state and nothing between; a note that is of another file than the one that lies there is none.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use super::copies::fnv;
use crate::text::Explanation;

/// All feeds together take no more than this.
const MOST_BYTES: u64 = 1 << 30;

/// More than any note has.
const LONGEST_NOTE: u64 = 1 << 16;

/// Whoever writes looks so often, in bytes, whether there is room for more: what comes at the same time takes it, too.
const LOOKS_EVERY: u64 = 8 << 20;

/// What ends the name of a file that is not whole yet.
const UNFINISHED: &str = "new";

/// The directory of what was fetched.
#[derive(Clone, Debug)]
pub struct Feeds {
    directory: PathBuf,
}

/// What tells one feed from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u64);

/// What is known of what was fetched. Times are those on the wall, in seconds since 1970: they are for the next filterd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// From where, without what may be a secret.
    pub url: String,
    /// What its server calls it.
    #[serde(default)]
    pub etag: Option<String>,
    /// When it was last modified, in its server's words.
    #[serde(default)]
    pub last_modified: Option<String>,
    /// What its server calls its kind.
    #[serde(default)]
    pub content_type: Option<String>,
    /// When its bytes came.
    pub fetched: u64,
    /// When its server last said that they are what there is.
    pub checked: u64,
    /// The addresses that it was last fetched from.
    #[serde(default)]
    pub from: Vec<IpAddr>,
    /// Before then its server is not to be asked again.
    #[serde(default)]
    pub not_before: Option<u64>,
    /// That it could not be fetched since.
    #[serde(default)]
    pub failed: Option<Failure>,
    /// The file that it is of.
    #[serde(default)]
    pub file: Option<Mark>,
}

/// Why it could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Since when, on the wall, in seconds since 1970.
    pub since: u64,
    /// So many times in a row.
    pub times: u32,
    pub told: Explanation,
}

/// What tells a file that was written from any other: a rename leaves it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    inode: u64,
    bytes: u64,
    modified: i64,
    nanoseconds: i64,
}

/// Bytes that are being fetched; gone with this unless they are kept.
#[derive(Debug)]
pub struct Coming {
    path: PathBuf,
    file: File,
    store: Feeds,
    key: Key,
    /// So many bytes were written since it was looked whether there is room.
    unseen: u64,
}

/// All feeds together would take more than they may.
#[derive(Debug, thiserror::Error)]
#[error("fetched lists take all the space they may have")]
pub struct NoRoom;

impl NoRoom {
    /// Is it what this says?
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|error| error.is::<Self>())
    }
}

impl Key {
    /// That of a feed which is told by this.
    #[must_use]
    pub fn of(what: &[u8]) -> Self {
        Self(fnv(what))
    }
}

impl Feeds {
    /// Those of this state directory.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { directory: state.join("feeds") }
    }

    /// Where the bytes of this one are, once it was fetched.
    #[must_use]
    pub fn file(&self, key: Key) -> PathBuf {
        self.directory.join(format!("{:016x}", key.0))
    }

    /// Nobody writes into what another has begun: not a filterd that takes the place of another, nor a fetch of a list that
    /// was gone from the configuration for a moment.
    fn unfinished(&self, key: Key, kind: &str) -> PathBuf {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        self.directory.join(format!("{:016x}{kind}.{}-{made}.{UNFINISHED}", key.0, process::id()))
    }

    fn note_of(&self, key: Key) -> PathBuf {
        self.file(key).with_extension("json")
    }

    /// What is known of the bytes that lie there, if it is of them and of this address.
    #[must_use]
    pub fn note(&self, key: Key, url: &str) -> Option<Note> {
        let mark = fs::symlink_metadata(self.file(key)).ok().as_ref().map(Mark::of);
        self.read(key, url).filter(|note| note.file.is_some() && note.file == mark)
    }

    /// What is known of this address, whatever lies there of it: that it failed, before when it is not to be asked again, and
    /// from where its lists were fetched before.
    #[must_use]
    pub fn known(&self, key: Key, url: &str) -> Note {
        self.read(key, url).unwrap_or_default()
    }

    fn read(&self, key: Key, url: &str) -> Option<Note> {
        let path = self.note_of(key);
        let text =
            open(&path).and_then(|file| io::read_to_string(io::Read::take(file, LONGEST_NOTE))).ok()?;
        serde_json::from_str(&text).ok().filter(|note: &Note| note.url == url)
    }

    /// How many bytes there is room for in place of what is there of this one; what is not whole yet takes room, too.
    #[must_use]
    pub fn room(&self, key: Key) -> u64 {
        let own = self.file(key);
        let others = self.files().into_iter().filter(|path| *path != own);
        let taken: u64 = others.filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum();
        MOST_BYTES.saturating_sub(taken)
    }

    /// Begins to write down what comes of this one.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub fn come(&self, key: Key) -> io::Result<Coming> {
        self.make_directory()?;
        let path = self.unfinished(key, "");
        // Whatever lies there under this name was never finished.
        _ = fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Coming { path, file, store: self.clone(), key, unseen: 0 })
    }

    fn make_directory(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    /// What has come is what there is of this one from now on, and this is known of it. The bytes are on disk before they get
    /// their name, and the note comes after them: until then there is none.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, key: Key, coming: &Coming, mut note: Note) -> io::Result<Note> {
        coming.file.sync_all()?;
        note.file = Some(Mark::of(&coming.file.metadata()?));
        fs::rename(&coming.path, self.file(key))?;
        self.write(key, &note)?;
        File::open(&self.directory)?.sync_all()?;
        Ok(note)
    }

    /// From now on this is known of the bytes that are there already, or of what has not come yet.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, key: Key, note: &Note) -> io::Result<()> {
        self.make_directory()?;
        let unfinished = self.unfinished(key, ".json");
        _ = fs::remove_file(&unfinished);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(&serde_json::to_vec(note)?)?;
        fs::rename(&unfinished, self.note_of(key))
    }

    /// Removes what is of none of these, and what an earlier filterd has not finished.
    pub fn retain(&self, keys: &[Key], is_coming: impl Fn(Key) -> bool) {
        for path in self.files() {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let (stem, rest) = name.split_once('.').unwrap_or((name, ""));
            let key = u64::from_str_radix(stem, 16).ok().filter(|_| stem.len() == 16).map(Key);
            let is_wanted =
                key.is_some_and(|key| keys.contains(&key) && (!rest.ends_with(UNFINISHED) || is_coming(key)));
            if !is_wanted {
                _ = fs::remove_file(&path);
            }
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }
}

impl Mark {
    fn of(file: &Metadata) -> Self {
        let (modified, nanoseconds) = (file.mtime(), file.mtime_nsec());
        Self { inode: file.ino(), bytes: file.size(), modified, nanoseconds }
    }
}

impl Write for Coming {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.unseen >= LOOKS_EVERY {
            self.unseen = 0;
            if self.store.room(self.key) == 0 {
                return Err(io::Error::other(NoRoom));
            }
        }
        let written = self.file.write(bytes)?;
        self.unseen += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        // It has its own name by now, or nobody wants it.
        _ = fs::remove_file(&self.path);
    }
}

/// Nothing that a link leads to is ours.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const URL: &str = "https://a.example/list";

    struct Place {
        state: tempfile::TempDir,
        feeds: Feeds,
        key: Key,
    }

    impl Place {
        fn new() -> Self {
            let state = tempfile::tempdir().unwrap();
            Self { feeds: Feeds::of(state.path()), key: Key::of(URL.as_bytes()), state }
        }

        fn fetch(&self, bytes: &str) -> Note {
            let mut coming = self.feeds.come(self.key).unwrap();
            coming.write_all(bytes.as_bytes()).unwrap();
            let note = Note { url: URL.to_owned(), etag: Some("\"1\"".to_owned()), ..Note::default() };
            self.feeds.keep(self.key, &coming, note).unwrap()
        }

        fn names(&self) -> usize {
            self.feeds.files().len()
        }
    }

    #[test]
    fn what_was_fetched_is_there_and_for_nobody_else() {
        let place = Place::new();
        let note = place.fetch("192.0.2.1\n");
        assert_eq!(fs::read_to_string(place.feeds.file(place.key)).unwrap(), "192.0.2.1\n");
        assert_eq!(place.feeds.note(place.key, URL), Some(note));
        assert_eq!(place.feeds.note(place.key, "https://b.example/list"), None);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place.state.path().join("feeds")), 0o700);
        assert!(place.feeds.files().iter().all(|path| mode(path) == 0o600));
        assert_eq!(place.names(), 2, "nothing else is left");
    }

    #[test]
    fn a_note_is_of_the_bytes_that_it_was_written_with() {
        let place = Place::new();
        place.fetch("192.0.2.1\n");
        fs::write(place.feeds.file(place.key), "").unwrap();
        assert_eq!(place.feeds.note(place.key, URL), None, "somebody has emptied it");
        place.fetch("192.0.2.1\n");
        fs::remove_file(place.feeds.file(place.key)).unwrap();
        assert_eq!(place.feeds.note(place.key, URL), None, "it is gone");
        place.fetch("192.0.2.1\n");
        fs::write(place.feeds.note_of(place.key), "{").unwrap();
        assert_eq!(place.feeds.note(place.key, URL), None, "it is damaged");
    }

    #[test]
    fn what_did_not_come_whole_leaves_what_was_there() {
        let place = Place::new();
        let note = place.fetch("192.0.2.1\n");
        let mut coming = place.feeds.come(place.key).unwrap();
        coming.write_all(b"192.").unwrap();
        drop(coming);
        assert_eq!(place.feeds.note(place.key, URL), Some(note));
        assert_eq!(place.names(), 2);
    }

    #[test]
    fn what_nobody_wants_any_more_goes() {
        let place = Place::new();
        place.fetch("192.0.2.1\n");
        for left in ["0000000000000001", "0000000000000001.json", "x", "0000000000000001.new"] {
            fs::write(place.state.path().join("feeds").join(left), "").unwrap();
        }
        let coming = place.feeds.come(place.key).unwrap();
        place.feeds.retain(&[place.key], |_| true);
        assert_eq!(place.names(), 3);
        place.feeds.retain(&[place.key], |_| false);
        assert_eq!(place.names(), 2);
        drop(coming);
        place.feeds.retain(&[], |_| false);
        assert_eq!(place.names(), 0);
    }

    #[test]
    fn that_nothing_came_is_known_too_and_is_of_no_bytes() {
        let place = Place::new();
        assert_eq!(place.feeds.known(place.key, URL), Note::default());
        let failed = Some(Failure { since: 5, times: 1, told: "it is not there".into() });
        let waits = Note { url: URL.to_owned(), not_before: Some(7), failed, ..Note::default() };
        place.feeds.write(place.key, &waits).unwrap();
        assert_eq!(place.feeds.note(place.key, URL), None);
        assert_eq!(place.feeds.known(place.key, URL), waits);
        assert_eq!(place.feeds.known(place.key, "https://b.example/list"), Note::default());
    }

    #[test]
    fn what_comes_at_the_same_time_has_one_room() {
        let place = Place::new();
        let [mut first, mut second] =
            [place.key, Key::of(b"other")].map(|key| place.feeds.come(key).unwrap());
        // Nothing is on disk of it.
        first.file.set_len(MOST_BYTES - LOOKS_EVERY).unwrap();
        let piece = vec![0; 1 << 20];
        let refused = (0..64).find_map(|_| second.write_all(&piece).err()).expect("there is no room for it");
        assert!(NoRoom::is(&refused), "{refused}");
        let written = second.file.metadata().unwrap().len();
        assert!((LOOKS_EVERY..=2 * LOOKS_EVERY).contains(&written), "{written}");
        drop(second);
        first.write_all(b"192.0.2.1\n").unwrap();
    }

    #[test]
    fn there_is_room_for_as_much_as_is_not_taken() {
        let place = Place::new();
        assert_eq!(place.feeds.room(place.key), MOST_BYTES);
        place.fetch("192.0.2.1\n");
        let note = fs::metadata(place.feeds.note_of(place.key)).unwrap().len();
        assert_eq!(place.feeds.room(place.key), MOST_BYTES - note, "what comes takes the place of what was");
        assert_eq!(place.feeds.room(Key::of(b"other")), MOST_BYTES - note - 10);
    }
}
