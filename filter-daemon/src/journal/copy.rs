//! The journal's second, older copy, for the day on which its file cannot be read.
//!
//! It is made of a snapshot, beside the writer and without holding it up, in a file of its own that takes its name only
//! when all of it is on disk.

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

use super::store::{ABOUT, FORMAT, ROWS, Store, open};
use crate::blocklist::Timestamp;
use crate::text::printable;

/// Where the copy of this file lies.
pub fn path_of(path: &Path) -> PathBuf {
    beside(path, ".old")
}

/// Makes one copy at a time.
#[derive(Default)]
pub struct Copier {
    copying: Option<JoinHandle<()>>,
    is_stopped: Arc<AtomicBool>,
}

impl Copier {
    /// Copies what is in `store` now. One that is under way is recent enough, and may as well be finished.
    pub fn begin(&mut self, store: &Store, now: Timestamp) {
        if self.copying.as_ref().is_some_and(|copying| !copying.is_finished()) {
            return;
        }
        self.is_stopped = Arc::default();
        self.copying = Copying::begin(store, now, Arc::clone(&self.is_stopped)).and_then(|copying| {
            let thread = thread::Builder::new().name("journal-copy".to_owned());
            // Where no thread can be had, the next copy may be luckier.
            thread.spawn(move || copying.work()).ok()
        });
    }

    /// Gives up the copy that is under way. When this returns, its snapshot is let go.
    pub fn stop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(copying) = self.copying.take() {
            _ = copying.join();
        }
    }
}

/// Why there is no new copy.
#[derive(Debug, Error)]
enum NotCopied {
    #[error("it is not wanted any more")]
    Stopped,
    #[error(transparent)]
    Database(#[from] redb::Error),
    #[error(transparent)]
    System(#[from] io::Error),
}

/// A copy in the making.
struct Copying {
    rows: Range<'static, u64, &'static [u8]>,
    of: PathBuf,
    now: Timestamp,
    is_stopped: Arc<AtomicBool>,
}

impl Copying {
    /// Nothing if there is nothing to copy.
    fn begin(store: &Store, now: Timestamp, is_stopped: Arc<AtomicBool>) -> Option<Self> {
        let rows = store.database()?.begin_read().ok()?.open_table(ROWS).ok()?.range::<u64>(..).ok()?;
        Some(Self { rows, of: store.path().to_owned(), now, is_stopped })
    }

    /// A copy that fails harms nobody today.
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

    /// Rows as they are: what is not known here is copied all the same.
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

/// A file that goes, unless it has taken another name.
struct Temporary(PathBuf);

impl Temporary {
    /// One that a killed filterd has left goes first.
    fn new(path: PathBuf) -> io::Result<Self> {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(Self(path)),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // The next copy removes it if this cannot.
        _ = fs::remove_file(&self.0);
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}
