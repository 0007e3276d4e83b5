//! Keeps a second, older copy of the journal, which is read if the journal itself cannot be read.
//!
//! The copy is made of a snapshot, and does not delay the writer. It is a temporary file that gets its name
//! when it is completely on disk.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use redb::{Range, ReadableDatabase};
use thiserror::Error;
use tracing::warn;

use super::store::{ABOUT, FORMAT, JournalStore, ROWS, open};
use crate::blocklist::Timestamp;
use crate::text::printable;

/// The path of the copy of this file.
pub fn path_of(path: &Path) -> PathBuf {
    beside(path, ".old")
}

/// Makes copies, one at a time.
#[derive(Default)]
pub struct Copier {
    copying: Option<JoinHandle<()>>,
    is_stopped: Arc<AtomicBool>,
}

impl Copier {
    /// Starts a copy of the contents of `store`. A copy under way is recent enough, and is finished
    /// instead.
    pub fn begin(&mut self, store: &JournalStore, now: Timestamp) {
        if self.copying.as_ref().is_some_and(|copying| !copying.is_finished()) {
            return;
        }
        self.is_stopped = Arc::default();
        self.copying = Copying::begin(store, now, Arc::clone(&self.is_stopped)).and_then(|copying| {
            let thread = thread::Builder::new().name("journal-copy".to_owned());
            // If no thread can be started, the next copy may succeed.
            thread.spawn(move || copying.work()).ok()
        });
    }

    /// Stops a copy that is under way, and returns when its snapshot is released.
    pub fn stop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(copying) = self.copying.take() {
            _ = copying.join();
        }
    }
}

/// Why no new copy was made.
#[derive(Debug, Error)]
enum NotCopied {
    #[error("it is not wanted any more")]
    Stopped,
    #[error(transparent)]
    Database(#[from] redb::Error),
    #[error(transparent)]
    System(#[from] io::Error),
}

/// A copy under way.
struct Copying {
    rows: Range<'static, u64, &'static [u8]>,
    of: PathBuf,
    now: Timestamp,
    is_stopped: Arc<AtomicBool>,
}

impl Copying {
    /// Returns none if there is nothing to copy.
    fn begin(store: &JournalStore, now: Timestamp, is_stopped: Arc<AtomicBool>) -> Option<Self> {
        let rows = store.database()?.begin_read().ok()?.open_table(ROWS).ok()?.range::<u64>(..).ok()?;
        Some(Self { rows, of: store.path().to_owned(), now, is_stopped })
    }

    /// A failed copy is only logged, because the journal itself is intact.
    fn work(self) {
        let name = path_of(&self.of);
        match self.copy(&name) {
            Ok(()) | Err(NotCopied::Stopped) => {}
            Err(error) => {
                warn!(
                    "cannot write a new {}: {error}; the earlier copy, if there is one, stays",
                    printable::path(&name)
                );
            }
        }
    }

    fn copy(self, name: &Path) -> Result<(), NotCopied> {
        let file = Temporary::new(beside(&self.of, ".new"))?;
        self.write(&file.0)?;
        File::open(&file.0)?.sync_all()?;
        fs::rename(&file.0, name)?;
        Ok(File::open(name.parent().expect("it is a file in the state directory"))?.sync_all()?)
    }

    /// Copies rows without decoding them, so that unknown records are copied too.
    fn write(self, path: &Path) -> Result<(), NotCopied> {
        let database = open(path).map_err(redb::Error::from)?;
        let transaction = database.begin_write().map_err(redb::Error::from)?;
        let write = || -> Result<bool, redb::Error> {
            let mut about = transaction.open_table(ABOUT)?;
            about.insert("format", FORMAT)?;
            about.insert("copied", self.now.secs())?;
            let mut rows = transaction.open_table(ROWS)?;
            for row in self.rows {
                let (number, row) = row?;
                rows.insert(number.value(), row.value())?;
                if self.is_stopped.load(Ordering::Relaxed) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        if !write()? {
            return Err(NotCopied::Stopped);
        }
        Ok(transaction.commit().map_err(redb::Error::from)?)
    }
}

/// A file that is removed when dropped, unless it was renamed.
struct Temporary(PathBuf);

impl Temporary {
    /// Removes the file that a killed filterd may have left there.
    fn new(path: PathBuf) -> io::Result<Self> {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(Self(path)),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // If this fails, the next copy removes it.
        _ = fs::remove_file(&self.0);
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}
