//! The file of the journal: a redb database of rows, each of which is written completely or not at all.

use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::panic;
use std::path::{Path, PathBuf};

use redb::backends::{FileBackend, InMemoryBackend};
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend, StorageError,
    TableDefinition, TableError, WriteTransaction,
};

use super::mark::{self, RowId};
use super::own_file::{open_our_own, read_our_own};
use super::record;
use super::times::WriterTimes;
use super::{JournalError, NotWritten};
use crate::blocklist::{Record, Timestamp};
use crate::clock::Moment;
use crate::lock::{LockedPlace, PlaceInUse};

/// The version of the meaning of numbers and bytes in the tables. It rises only if a program that knows the
/// previous format would do harm by skipping what it does not know. New kinds of record, and new fields at
/// the end of a record, can be skipped. Rows of format 1 have kinds without lengths, so a reader of these
/// alone would take the others for damaged.
///
/// It is written together with the first row that needs it, so that an upgrade that fails earlier can be
/// reverted.
pub const FORMAT: u64 = 2;

/// The format of a file that names none.
const FIRST_FORMAT: u64 = 1;

/// Facts about the file: `format`, and in a copy `copied`, the second at which it was started.
pub const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("about");
/// Rows in the order in which they were written.
pub const ROWS: TableDefinition<u64, &[u8]> = TableDefinition::new("changes");

/// Rows are written once and read once, so a larger cache gains little.
const CACHE: usize = 4 << 20;

/// The file, either open or to be opened again after a failure.
pub struct JournalStore {
    path: PathBuf,
    database: Option<Database>,
    /// The device and inode of the open file, to detect that the path has another one.
    file: (u64, u64),
    format: u64,
    next: u64,
    /// The last row in the file.
    last: Option<RowId>,
}

/// The contents of a file.
#[derive(Debug, Default)]
pub struct JournalContents {
    /// All changes, in the order in which they were made.
    pub changes: Vec<Record>,
    /// The times in which they are expressed.
    pub times: WriterTimes,
    /// The number of damaged rows.
    pub damaged_rows: u64,
    /// The number of records of unknown kinds.
    pub skipped: u64,
    /// When the file was made, if it is or was a copy.
    pub copied: Option<Timestamp>,
}

/// Why a file cannot be read.
#[derive(Debug)]
pub enum Unusable {
    /// Its contents are damaged.
    Damaged(String),
    /// It cannot be read for another reason.
    Other(JournalError),
}

impl JournalStore {
    /// Opens this file, or creates it, and reads everything. redb should report damage, but panics at some
    /// of it.
    pub fn read(path: &Path) -> Result<(Self, JournalContents), Unusable> {
        let read = panic::catch_unwind(|| Self::read_unguarded(path));
        read.unwrap_or_else(|_| Err(Unusable::Damaged("its pages contradict each other".to_owned())))
    }

    fn read_unguarded(path: &Path) -> Result<(Self, JournalContents), Unusable> {
        let opened = open(path).map_err(|error| Unusable::new(path, error));
        let (database, is_memory) = match opened {
            // The contents can still be read, and a later write opens the file again.
            Err(refused) if refused.is_refused() => (in_memory(path).ok_or(refused)?, true),
            opened => (opened?, false),
        };
        let file = fs::metadata(path).map(|found| number(&found)).unwrap_or_default();
        let mut store =
            Self { path: path.to_owned(), database: None, file, format: FIRST_FORMAT, next: 0, last: None };
        let contents = store.read_tables(&database).map_err(|error| Unusable::Damaged(error.to_string()))?;
        if store.format > FORMAT {
            let (path, found) = (path.to_owned(), store.format);
            return Err(Unusable::Other(JournalError::Newer { path, found, known: FORMAT }));
        }
        store.database = Some(database).filter(|_| !is_memory);
        Ok((store, contents))
    }

    /// A store without a file, for a path that holds nothing and where none can be created now. The first
    /// write that succeeds creates it.
    pub fn to_be_made(path: &Path) -> Self {
        let (path, format) = (path.to_owned(), FIRST_FORMAT);
        Self { path, database: None, file: (0, 0), format, next: 0, last: None }
    }

    /// A damaged row loses its own changes only.
    fn read_tables(&mut self, database: &Database) -> Result<JournalContents, redb::Error> {
        let mut contents = JournalContents::default();
        self.format = about(database, "format")?.unwrap_or(FIRST_FORMAT);
        contents.copied = about(database, "copied")?
            .map(|secs| Timestamp::from_secs(u32::try_from(secs).unwrap_or(u32::MAX)));
        let Some(rows) = there(database.begin_read()?.open_table(ROWS))? else { return Ok(contents) };
        if self.format > FORMAT {
            return Ok(contents);
        }
        for row in rows.iter()? {
            let (number, row) = row?;
            let last = RowId::new(number.value(), row.value());
            (self.next, self.last) = (last.next(), Some(last));
            match record::decode(row.value()) {
                Ok(row) => {
                    contents.times.add(row.moment, row.changes.len());
                    contents.changes.extend(row.changes);
                    contents.skipped += row.skipped;
                }
                Err(record::Damaged) => contents.damaged_rows += 1,
            }
        }
        Ok(contents)
    }

    /// True if the row that was written last is missing.
    pub fn is_a_commit_behind(&self) -> bool {
        // A journal whose rows were all removed, because no entry is live, still has a format.
        let is_known = self.last.is_some() || self.format == FIRST_FORMAT;
        is_known && mark::is_a_commit_behind(&self.path, self.last)
    }

    /// True if rows can be written. Otherwise the file must still be created, or the system refuses to
    /// write to it.
    pub const fn is_open(&self) -> bool {
        self.database.is_some()
    }

    /// The store after its file was moved to this path.
    pub fn moved_to(self, path: PathBuf) -> Self {
        Self { path, ..self }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database, unless it failed and is not open again yet.
    pub fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// Writes one transaction. redb must be opened again after a failure.
    fn write(
        &mut self,
        change: impl FnOnce(&WriteTransaction, u64) -> Result<(), redb::Error>,
    ) -> Result<(), NotWritten> {
        let written = self.must_be_in_place().and_then(|()| self.reopen()).and_then(|()| {
            let database = self.database.as_ref().expect("it was just opened");
            let transaction = database.begin_write()?;
            change(&transaction, self.format)?;
            Ok(transaction.commit()?)
        });
        written.map_err(|error| {
            self.database = None;
            NotWritten::new(&self.path, &error)
        })
    }

    /// Fails if the file was removed or replaced, because writes to the old one would never be read.
    fn must_be_in_place(&self) -> Result<(), redb::Error> {
        let found = || fs::metadata(&self.path).map(|found| number(&found));
        match self.database.is_none() || found()? == self.file {
            true => Ok(()),
            false => Err(io::Error::other("it was replaced by another file").into()),
        }
    }

    fn reopen(&mut self) -> Result<(), redb::Error> {
        if self.database.is_none() {
            // The whole directory may have been removed. If it cannot be created, opening reports why.
            _ = self.path.parent().map(|directory| DirBuilder::new().mode(0o700).create(directory));
            let database = open(&self.path)?;
            self.file = number(&fs::metadata(&self.path)?);
            self.format = about(&database, "format")?.unwrap_or(FIRST_FORMAT);
            self.last = last_row(&database)?;
            self.next = self.next.max(self.last.map_or(0, RowId::next));
            self.database = Some(database);
        }
        Ok(())
    }
}

/// The operations of a store, as the writer needs them.
pub trait RowStore {
    /// Writes one row, in the time of this moment. When this returns, it is on disk.
    fn append(&mut self, changes: &[Record], at: &Moment) -> Result<(), NotWritten>;
    /// The number of the row that will be written next.
    fn next(&self) -> u64;
    /// Removes the rows before that number.
    fn trim(&mut self, before: u64) -> Result<(), NotWritten>;
    /// Checks whether a row could be written. A store that is closed after a failure passes, because that
    /// is already known.
    fn check(&mut self) -> Result<(), NotWritten>;
    /// The store from which copies are made.
    fn store(&self) -> &JournalStore;
}

impl RowStore for JournalStore {
    fn append(&mut self, changes: &[Record], at: &Moment) -> Result<(), NotWritten> {
        let (row, number) = (record::encode(changes, at), self.next);
        self.write(|transaction, format| {
            if format < FORMAT {
                transaction.open_table(ABOUT)?.insert("format", FORMAT)?;
            }
            transaction.open_table(ROWS)?.insert(number, &*row)?;
            Ok(())
        })?;
        self.format = FORMAT;
        self.next += 1;
        let (last, before) = (RowId::new(number, &row), self.last);
        self.last = Some(last);
        if let Err(error) = mark::write(&self.path, last, before) {
            tracing::debug!("cannot store beside {} which row is its last: {error}", self.path.display());
        }
        Ok(())
    }

    fn next(&self) -> u64 {
        self.next
    }

    fn trim(&mut self, before: u64) -> Result<(), NotWritten> {
        self.write(|transaction, _| Ok(transaction.open_table(ROWS)?.retain_in(..before, |_, _| false)?))
    }

    fn check(&mut self) -> Result<(), NotWritten> {
        if self.database.is_none() {
            return Ok(());
        }
        let opened = || OpenOptions::new().write(true).open(&self.path);
        let checked = self.must_be_in_place().and_then(|()| Ok(opened().map(|_| ())?));
        checked.map_err(|error| {
            self.database = None;
            NotWritten::new(&self.path, &error)
        })
    }

    fn store(&self) -> &JournalStore {
        self
    }
}

/// The device and inode, which identify a file.
fn number(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Opens this database, or creates it.
///
/// redb compares every page with its checksum before it follows the page. Otherwise damage would be found
/// in the middle of a change, or would make redb ask for a page of 4 GiB.
///
/// A new file that is incomplete, because of a full disk for example, is removed. Otherwise it would be
/// found as a damaged one.
pub fn open(path: &Path) -> Result<Database, DatabaseError> {
    let file = open_our_own(path).map_err(StorageError::Io)?;
    let is_new = file.metadata().is_ok_and(|found| found.len() == 0);
    // The file is locked from here on, so that no other process creates it meanwhile.
    let backend = FileBackend::new(file)?;
    let opened =
        Builder::new().set_cache_size(CACHE).set_check_integrity_on_open(true).create_with_backend(backend);
    if opened.is_err() && is_new {
        _ = fs::remove_file(path);
    }
    opened
}

/// Loads the file into memory, because redb cannot even open what a killed filterd has left if it cannot
/// write to it. Returns none if it cannot be read, or is empty.
fn in_memory(path: &Path) -> Option<Database> {
    let bytes = read_our_own(path).ok().filter(|bytes| !bytes.is_empty())?;
    let memory = InMemoryBackend::new();
    memory.set_len(bytes.len() as u64).and_then(|()| memory.write(0, &bytes)).ok()?;
    Builder::new().set_check_integrity_on_open(true).create_with_backend(memory).ok()
}

fn about(database: &Database, fact: &str) -> Result<Option<u64>, redb::Error> {
    let Some(about) = there(database.begin_read()?.open_table(ABOUT))? else { return Ok(None) };
    Ok(about.get(fact)?.map(|value| value.value()))
}

/// Another process may have written rows while the file was closed here.
fn last_row(database: &Database) -> Result<Option<RowId>, redb::Error> {
    let Some(rows) = there(database.begin_read()?.open_table(ROWS))? else { return Ok(None) };
    Ok(rows.last()?.map(|(number, row)| RowId::new(number.value(), row.value())))
}

/// A new file has no tables.
fn there<T>(opened: Result<T, TableError>) -> Result<Option<T>, TableError> {
    match opened {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        opened => opened.map(Some),
    }
}

impl Unusable {
    /// A refusal by the system is no damage: another try may succeed, so the file stays where it is.
    fn new(path: &Path, error: DatabaseError) -> Self {
        if let DatabaseError::Storage(StorageError::Io(source)) = error {
            return if is_refusal(&source) {
                Self::Other(JournalError::Directory { path: path.to_owned(), source })
            } else {
                Self::Damaged(source.to_string())
            };
        }
        if matches!(error, DatabaseError::DatabaseAlreadyOpen) {
            let directory = path.parent().unwrap_or(path);
            return Self::Other(PlaceInUse::by_holder_of(path, LockedPlace::State, directory).into());
        }
        Self::Damaged(error.to_string())
    }

    /// True if the system refused access.
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Other(JournalError::Directory { .. }))
    }

    /// The error for a file that was to be created: it has no contents that could be damaged.
    pub fn of_new(self, path: &Path) -> JournalError {
        match self {
            Self::Other(error) => error,
            Self::Damaged(reason) => {
                JournalError::Directory { path: path.to_owned(), source: io::Error::other(reason) }
            }
        }
    }
}

fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error().is_some()
}
