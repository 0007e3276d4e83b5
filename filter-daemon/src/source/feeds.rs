//! The store of fetched feeds in the state directory. Each feed has a file with its unpacked bytes, which is
//! read as any list file is, and a note with facts about them. Both are replaced by rename, so readers find
//! either the old or the new state. A note that belongs to another file than the one present is ignored.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use crate::text::Explanation;

/// The limit for all feeds together.
const MOST_BYTES: u64 = 1 << 30;

/// No note is longer than this.
const LONGEST_NOTE: u64 = 1 << 16;

/// The number of bytes between two checks for room. Other feeds that arrive at the same time use the same
/// room.
const LOOKS_EVERY: u64 = 8 << 20;

/// The file extension of an incomplete file.
const UNFINISHED: &str = "new";

/// The directory of fetched feeds.
#[derive(Clone, Debug)]
pub struct FeedStore {
    directory: PathBuf,
}

/// Identifies one feed among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedKey(u64);

/// The facts about a fetched feed. Times are wall-clock times in seconds since 1970, because the next filterd
/// reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedNote {
    /// The URL without parts that may be secret.
    pub url: String,
    /// The server's entity tag.
    #[serde(default)]
    pub etag: Option<String>,
    /// When it was last modified, in the server's own words.
    #[serde(default)]
    pub last_modified: Option<String>,
    /// The content type that the server stated.
    #[serde(default)]
    pub content_type: Option<String>,
    /// When the bytes were received.
    pub fetched: u64,
    /// When the server last confirmed that they are current.
    pub checked: u64,
    /// The IP addresses that it was last fetched from.
    #[serde(default)]
    pub from: Vec<IpAddr>,
    /// The server is not asked again before this time.
    #[serde(default)]
    pub not_before: Option<u64>,
    /// The failure to fetch it since, if there is one.
    #[serde(default)]
    pub failed: Option<StoredFailure>,
    /// The file that this note belongs to.
    #[serde(default)]
    pub file: Option<FileMark>,
}

/// The reason why a feed could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFailure {
    /// When the failures began, in wall-clock seconds since 1970.
    pub since: u64,
    /// The number of consecutive failures.
    pub times: u32,
    pub told: Explanation,
}

/// Identifies a written file. A rename does not change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    inode: u64,
    bytes: u64,
    modified: i64,
    nanoseconds: i64,
}

/// Bytes that are being fetched. Dropping this removes them unless they were kept.
#[derive(Debug)]
pub struct PartialDownload {
    path: PathBuf,
    file: File,
    store: FeedStore,
    key: FeedKey,
    /// The number of bytes written since the last check for room.
    unseen: u64,
}

/// The error for exceeding the limit of all feeds.
#[derive(Debug, thiserror::Error)]
#[error("fetched lists take all the space they may have")]
pub struct NoRoom;

impl NoRoom {
    /// True if this is the reason for `error`.
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|error| error.is::<Self>())
    }
}

impl FeedKey {
    /// The key of the feed that these bytes describe.
    #[must_use]
    pub fn of(what: &[u8]) -> Self {
        Self(fnv(what))
    }
}

impl FeedStore {
    /// The feeds in this state directory.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { directory: state.join("feeds") }
    }

    /// The path of this feed's bytes. The file exists once the feed was fetched.
    #[must_use]
    pub fn file(&self, key: FeedKey) -> PathBuf {
        self.directory.join(format!("{:016x}", key.0))
    }

    /// A new path for unfinished bytes. No other writer uses it: neither a filterd that replaces another one,
    /// nor another fetch of a list that was removed from the configuration for a moment.
    fn unfinished(&self, key: FeedKey, kind: &str) -> PathBuf {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        self.directory.join(format!("{:016x}{kind}.{}-{made}.{UNFINISHED}", key.0, process::id()))
    }

    fn note_of(&self, key: FeedKey) -> PathBuf {
        self.file(key).with_extension("json")
    }

    /// The note of this feed, if it belongs to the present bytes and to this URL.
    #[must_use]
    pub fn note(&self, key: FeedKey, url: &str) -> Option<FeedNote> {
        let mark = fs::symlink_metadata(self.file(key)).ok().as_ref().map(FileMark::of);
        self.read(key, url).filter(|note| note.file.is_some() && note.file == mark)
    }

    /// The note of this URL, even if it belongs to other bytes. It records failures, the time before which
    /// the server must not be asked, and the addresses of earlier fetches.
    #[must_use]
    pub fn known(&self, key: FeedKey, url: &str) -> FeedNote {
        self.read(key, url).unwrap_or_default()
    }

    fn read(&self, key: FeedKey, url: &str) -> Option<FeedNote> {
        let path = self.note_of(key);
        let text =
            open(&path).and_then(|file| io::read_to_string(io::Read::take(file, LONGEST_NOTE))).ok()?;
        serde_json::from_str(&text).ok().filter(|note: &FeedNote| note.url == url)
    }

    /// The number of bytes that this feed may take in place of its present file. Unfinished files count as
    /// taken.
    #[must_use]
    pub fn room(&self, key: FeedKey) -> u64 {
        let own = self.file(key);
        let others = self.files().into_iter().filter(|path| *path != own);
        let taken: u64 = others.filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum();
        MOST_BYTES.saturating_sub(taken)
    }

    /// Begins to write the bytes of this feed.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn come(&self, key: FeedKey) -> io::Result<PartialDownload> {
        self.make_directory()?;
        let path = self.unfinished(key, "");
        // A file of this name was never finished.
        _ = fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(PartialDownload { path, file, store: self.clone(), key, unseen: 0 })
    }

    fn make_directory(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    /// Makes the received bytes the present ones, and writes the note for them. The bytes are on disk before
    /// they are renamed, and the note is written afterwards. Until then there is no valid note.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn keep(&self, key: FeedKey, coming: &PartialDownload, mut note: FeedNote) -> io::Result<FeedNote> {
        coming.file.sync_all()?;
        note.file = Some(FileMark::of(&coming.file.metadata()?));
        fs::rename(&coming.path, self.file(key))?;
        self.write(key, &note)?;
        File::open(&self.directory)?.sync_all()?;
        Ok(note)
    }

    /// Writes the note for the bytes that are present, or for a feed that was not received yet.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn write(&self, key: FeedKey, note: &FeedNote) -> io::Result<()> {
        self.make_directory()?;
        let unfinished = self.unfinished(key, ".json");
        _ = fs::remove_file(&unfinished);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(&serde_json::to_vec(note)?)?;
        fs::rename(&unfinished, self.note_of(key))
    }

    /// Removes all files of other feeds, and files that an earlier filterd did not finish.
    pub fn retain(&self, keys: &[FeedKey], is_coming: impl Fn(FeedKey) -> bool) {
        for path in self.files() {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let (stem, rest) = name.split_once('.').unwrap_or((name, ""));
            let key = u64::from_str_radix(stem, 16).ok().filter(|_| stem.len() == 16).map(FeedKey);
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

impl FileMark {
    fn of(file: &Metadata) -> Self {
        let (modified, nanoseconds) = (file.mtime(), file.mtime_nsec());
        Self { inode: file.ino(), bytes: file.size(), modified, nanoseconds }
    }
}

impl Write for PartialDownload {
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

impl Drop for PartialDownload {
    fn drop(&mut self) {
        // The file has its final name by now, or is not needed.
        _ = fs::remove_file(&self.path);
    }
}

/// Opens a file without following a link, because a link's target is not ours.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// 64-bit FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>. It must give the same result in every version
/// of this program.
fn fnv(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const URL: &str = "https://a.example/list";

    struct Place {
        state: tempfile::TempDir,
        feeds: FeedStore,
        key: FeedKey,
    }

    impl Place {
        fn new() -> Self {
            let state = tempfile::tempdir().unwrap();
            Self { feeds: FeedStore::of(state.path()), key: FeedKey::of(URL.as_bytes()), state }
        }

        fn fetch(&self, bytes: &str) -> FeedNote {
            let mut coming = self.feeds.come(self.key).unwrap();
            coming.write_all(bytes.as_bytes()).unwrap();
            let note =
                FeedNote { url: URL.to_owned(), etag: Some("\"1\"".to_owned()), ..FeedNote::default() };
            self.feeds.keep(self.key, &coming, note).unwrap()
        }

        fn names(&self) -> usize {
            self.feeds.files().len()
        }
    }

    #[test]
    fn fetched_feed_is_stored_privately() {
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
    fn note_belongs_to_its_bytes() {
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
    fn incomplete_fetch_keeps_the_earlier_file() {
        let place = Place::new();
        let note = place.fetch("192.0.2.1\n");
        let mut coming = place.feeds.come(place.key).unwrap();
        coming.write_all(b"192.").unwrap();
        drop(coming);
        assert_eq!(place.feeds.note(place.key, URL), Some(note));
        assert_eq!(place.names(), 2);
    }

    #[test]
    fn unused_feeds_are_removed() {
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
    fn failed_fetch_is_noted_without_bytes() {
        let place = Place::new();
        assert_eq!(place.feeds.known(place.key, URL), FeedNote::default());
        let failed = Some(StoredFailure { since: 5, times: 1, told: "it is not there".into() });
        let waits = FeedNote { url: URL.to_owned(), not_before: Some(7), failed, ..FeedNote::default() };
        place.feeds.write(place.key, &waits).unwrap();
        assert_eq!(place.feeds.note(place.key, URL), None);
        assert_eq!(place.feeds.known(place.key, URL), waits);
        assert_eq!(place.feeds.known(place.key, "https://b.example/list"), FeedNote::default());
    }

    #[test]
    fn concurrent_fetches_share_the_limit() {
        let place = Place::new();
        let [mut first, mut second] =
            [place.key, FeedKey::of(b"other")].map(|key| place.feeds.come(key).unwrap());
        // The file is sparse and takes no disk space.
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
    fn room_is_the_limit_minus_used() {
        let place = Place::new();
        assert_eq!(place.feeds.room(place.key), MOST_BYTES);
        place.fetch("192.0.2.1\n");
        let note = fs::metadata(place.feeds.note_of(place.key)).unwrap().len();
        assert_eq!(place.feeds.room(place.key), MOST_BYTES - note, "what comes takes the place of what was");
        assert_eq!(place.feeds.room(FeedKey::of(b"other")), MOST_BYTES - note - 10);
    }
}
