//! The journal's file: rows in a redb database, each written as a whole or not at all.

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

use super::mark::{self, Row};
use super::own_file::{open_our_own, read_our_own};
use super::record;
use super::times::Times;
use super::{JournalError, NotWritten};
use crate::blocklist::{Record, Timestamp};
use crate::clock::Moment;
use crate::lock::{Place, Taken};

/// What the numbers and bytes in the tables mean. It rises only when a program that knows the format before would do
/// harm by skipping what it does not know: what may be skipped is a new kind of record, or fields behind a record's own.
/// Rows of format 1 have kinds without lengths, so whoever knows only these would take the others for damaged.
///
/// It is written together with the first row that needs it, so that an upgrade that fails before can be taken back.
pub const FORMAT: u64 = 2;

/// What a file without a format has: the first one.
const FIRST_FORMAT: u64 = 1;

/// Facts about the file: `format`, and in a copy `copied`, the second at which it was begun.
pub const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("about");
/// Rows in the order in which they were written.
pub const ROWS: TableDefinition<u64, &[u8]> = TableDefinition::new("changes");

/// Rows are written once and read once, so little is gained by remembering them.
const CACHE: usize = 4 << 20;

/// The file, open or to be opened again after it failed.
pub struct Store {
    path: PathBuf,
    database: Option<Database>,
    /// Which file that is, whatever lies at the path.
    file: (u64, u64),
    format: u64,
    next: u64,
    /// The last row there is.
    last: Option<Row>,
}

/// What is in a file.
#[derive(Debug, Default)]
pub struct Contents {
    /// All changes, in the order in which they were made.
    pub changes: Vec<Record>,
    /// In which times they are.
    pub times: Times,
    /// Rows that were not what was written.
    pub damaged_rows: u64,
    /// Records of kinds that are not known here.
    pub skipped: u64,
    /// When the file was made, if it is or was a copy.
    pub copied: Option<Timestamp>,
}

/// Why a file cannot be read.
#[derive(Debug)]
pub enum Unusable {
    /// It is not what was written.
    Damaged(String),
    /// Anything else.
    Other(JournalError),
}

impl Store {
    /// Opens this file, made if it is not there, and reads everything. redb means to tell of damage, but panics at some of
    /// it.
    pub fn read(path: &Path) -> Result<(Self, Contents), Unusable> {
        let read = panic::catch_unwind(|| Self::read_unguarded(path));
        read.unwrap_or_else(|_| Err(Unusable::Damaged("its pages contradict each other".to_owned())))
    }

    fn read_unguarded(path: &Path) -> Result<(Self, Contents), Unusable> {
        let opened = open(path).map_err(|error| Unusable::new(path, error));
        let (database, is_memory) = match opened {
            // What is in it can be known all the same, and it is opened again with whatever is to be written.
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

    /// One that the system does not let us make, and that holds nothing: it is made with the first row that can be written.
    pub fn to_be_made(path: &Path) -> Self {
        let (path, format) = (path.to_owned(), FIRST_FORMAT);
        Self { path, database: None, file: (0, 0), format, next: 0, last: None }
    }

    /// What one row says is lost with it, not with its neighbours.
    fn read_tables(&mut self, database: &Database) -> Result<Contents, redb::Error> {
        let mut contents = Contents::default();
        self.format = about(database, "format")?.unwrap_or(FIRST_FORMAT);
        contents.copied = about(database, "copied")?
            .map(|secs| Timestamp::from_secs(u32::try_from(secs).unwrap_or(u32::MAX)));
        let Some(rows) = there(database.begin_read()?.open_table(ROWS))? else { return Ok(contents) };
        if self.format > FORMAT {
            return Ok(contents);
        }
        for row in rows.iter()? {
            let (number, row) = row?;
            let last = Row::new(number.value(), row.value());
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

    /// Is the last row that was written not there?
    pub fn is_a_commit_behind(&self) -> bool {
        // A journal whose rows are gone, because nothing is live, has a format.
        let is_known = self.last.is_some() || self.format == FIRST_FORMAT;
        is_known && mark::is_a_commit_behind(&self.path, self.last)
    }

    /// Could something be written? Else it is still to be made, or the system lets nobody write to it.
    pub const fn is_open(&self) -> bool {
        self.database.is_some()
    }

    /// The same file, which now lies there.
    pub fn moved_to(self, path: PathBuf) -> Self {
        Self { path, ..self }
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database, unless it has failed and was not opened again yet.
    pub fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// After a failure redb wants to be opened again.
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

    /// What is written to a file that somebody has removed or replaced, nobody will ever read.
    fn must_be_in_place(&self) -> Result<(), redb::Error> {
        let found = || fs::metadata(&self.path).map(|found| number(&found));
        match self.database.is_none() || found()? == self.file {
            true => Ok(()),
            false => Err(io::Error::other("it was replaced by another file").into()),
        }
    }

    fn reopen(&mut self) -> Result<(), redb::Error> {
        if self.database.is_none() {
            // Where the whole directory was removed. If that cannot be, opening tells why.
            _ = self.path.parent().map(|directory| DirBuilder::new().mode(0o700).create(directory));
            let database = open(&self.path)?;
            self.file = number(&fs::metadata(&self.path)?);
            self.format = about(&database, "format")?.unwrap_or(FIRST_FORMAT);
            self.last = last_row(&database)?;
            self.next = self.next.max(self.last.map_or(0, Row::next));
            self.database = Some(database);
        }
        Ok(())
    }
}

/// Where rows are written.
pub trait Rows {
    /// Writes one row at this moment, in whose time it is; it is on the disk when this returns.
    fn append(&mut self, changes: &[Record], at: &Moment) -> Result<(), NotWritten>;
    /// The number of the row that will be written next.
    fn next(&self) -> u64;
    /// Removes the rows before that number.
    fn trim(&mut self, before: u64) -> Result<(), NotWritten>;
    /// Lets another process have the file; it is opened again when something is written. Says why nothing in it can be
    /// relied on until then.
    fn close(&mut self) -> NotWritten;
    /// Could a row be written? Where one could not be, that is known already.
    fn check(&mut self) -> Result<(), NotWritten>;
    /// What a copy is made of.
    fn store(&self) -> &Store;
}

impl Rows for Store {
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
        let (last, before) = (Row::new(number, &row), self.last);
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

    fn close(&mut self) -> NotWritten {
        self.database = None;
        NotWritten::new(&self.path, &io::Error::other("another filterd was to go on with it"))
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

    fn store(&self) -> &Store {
        self
    }
}

/// What tells one file from another.
fn number(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Opens this database, made if it is not there.
///
/// All pages are compared with their sums, each before it is believed what it says of others: else a damaged one would be
/// found in the middle of a change, or make redb ask for a page of 4 GiB.
///
/// What could be made in part only, as on a full disk, does not stay: it would be found as a damaged one.
pub fn open(path: &Path) -> Result<Database, DatabaseError> {
    let file = open_our_own(path).map_err(StorageError::Io)?;
    let is_new = file.metadata().is_ok_and(|found| found.len() == 0);
    // It is locked from here on, so that nobody else makes it meanwhile.
    let backend = FileBackend::new(file)?;
    let opened =
        Builder::new().set_cache_size(CACHE).set_check_integrity_on_open(true).create_with_backend(backend);
    if opened.is_err() && is_new {
        _ = fs::remove_file(path);
    }
    opened
}

/// What this file holds, in memory: where the system lets nobody write to it, redb could not even open what a killed filterd
/// has left. Nothing where it cannot be read either, or holds nothing.
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

/// Another process may have written rows since this one let it.
fn last_row(database: &Database) -> Result<Option<Row>, redb::Error> {
    let Some(rows) = there(database.begin_read()?.open_table(ROWS))? else { return Ok(None) };
    Ok(rows.last()?.map(|(number, row)| Row::new(number.value(), row.value())))
}

/// A new file has no tables.
fn there<T>(opened: Result<T, TableError>) -> Result<Option<T>, TableError> {
    match opened {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        opened => opened.map(Some),
    }
}

impl Unusable {
    /// What the system refuses is no damage: another try may succeed, so the file stays where it is.
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
            return Self::Other(Taken::by_holder_of(path, Place::State, directory).into());
        }
        Self::Damaged(error.to_string())
    }

    /// Does the system not let us?
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Other(JournalError::Directory { .. }))
    }

    /// This file was to be made anew: it has nothing that could be damaged.
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
