//! The journal's file: rows in a redb database, each written as a whole or not at all.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition,
};

use super::record;
use super::{Found, JournalError, NotWritten};
use crate::blocklist::Record;

const FILE: &str = "live.redb";

/// What the numbers and bytes in the tables mean.
const FORMAT: u64 = 1;

const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("about");
const ROWS: TableDefinition<u64, &[u8]> = TableDefinition::new("changes");

/// Rows are written once and read once, so little is gained by remembering them.
const CACHE: usize = 4 << 20;

/// The file, open or to be opened again after it failed.
pub struct Store {
    path: PathBuf,
    database: Option<Database>,
    next: u64,
}

impl Store {
    /// Opens the file in `directory`, made if it is not there, and hands every change in it to `take` in the order in
    /// which they were made. A damaged file is set aside, and a new one takes its place.
    pub fn open(directory: &Path, take: &mut dyn FnMut(Record)) -> Result<(Self, Found), JournalError> {
        let failed = |source| JournalError::Directory { path: directory.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        let path = directory.join(FILE);
        let mut store = Self { path, database: None, next: 0 };
        match store.read(take) {
            Ok(found) => Ok((store, found)),
            Err(Unusable::Other(error)) => Err(error),
            Err(Unusable::Damaged(reason)) => {
                let aside = store.set_aside()?;
                store.read(&mut |_| {}).map_err(|unusable| unusable.into_error(&store.path))?;
                Ok((store, Found { set_aside: Some((aside, reason)), ..Found::default() }))
            }
        }
    }

    /// Writes one row; it is on the disk when this returns.
    pub fn append(&mut self, changes: &[Record]) -> Result<(), NotWritten> {
        let (row, number) = (record::encode(changes), self.next);
        self.write(|rows| rows.insert(number, &*row).map(drop))?;
        self.next += 1;
        Ok(())
    }

    /// The number of the row that will be written next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Removes the rows before that number.
    pub fn trim(&mut self, before: u64) -> Result<(), NotWritten> {
        self.write(|rows| rows.retain_in(..before, |_, _| false))
    }

    /// After a failure redb wants to be opened again.
    fn write(
        &mut self,
        change: impl FnOnce(&mut redb::Table<u64, &[u8]>) -> Result<(), StorageError>,
    ) -> Result<(), NotWritten> {
        if self.database.is_none() {
            self.database = Some(open(&self.path).map_err(|error| NotWritten::new(&self.path, &error))?);
        }
        let database = self.database.as_ref().expect("it was just opened");
        let written = (|| {
            let transaction = database.begin_write()?;
            change(&mut transaction.open_table(ROWS)?)?;
            transaction.commit()?;
            Ok(())
        })();
        written.map_err(|error: redb::Error| {
            self.database = None;
            NotWritten::new(&self.path, &error)
        })
    }

    /// Reads everything. redb means to tell of damage, but panics at some of it.
    fn read(&mut self, take: &mut dyn FnMut(Record)) -> Result<Found, Unusable> {
        let read = panic::catch_unwind(AssertUnwindSafe(|| self.read_unguarded(take)));
        read.unwrap_or_else(|_| Err(Unusable::Damaged("its pages contradict each other".to_owned())))
    }

    /// What one row says is lost with it, not with its neighbours.
    fn read_unguarded(&mut self, take: &mut dyn FnMut(Record)) -> Result<Found, Unusable> {
        let mut database = open(&self.path).map_err(|error| Unusable::new(&self.path, error))?;
        // Unless it says so itself, a page that is not what was written would be found in the middle of a change.
        database.check_integrity().map_err(|error| Unusable::new(&self.path, error))?;
        let mut found = Found::default();
        self.read_rows(&database, &mut found, take).map_err(|error| Unusable::Damaged(error.to_string()))?;
        if found.format > FORMAT {
            return Err(Unusable::Other(JournalError::Newer {
                path: self.path.clone(),
                found: found.format,
                known: FORMAT,
            }));
        }
        self.database = Some(database);
        Ok(found)
    }

    fn read_rows(
        &mut self,
        database: &Database,
        found: &mut Found,
        take: &mut dyn FnMut(Record),
    ) -> Result<(), redb::Error> {
        let transaction = database.begin_write()?;
        {
            let mut about = transaction.open_table(ABOUT)?;
            found.format = about.get("format")?.map_or(FORMAT, |format| format.value());
            about.insert("format", found.format)?;
            transaction.open_table(ROWS)?;
        }
        transaction.commit()?;
        if found.format > FORMAT {
            return Ok(());
        }
        let rows = database.begin_read()?.open_table(ROWS)?;
        for row in rows.iter()? {
            let (number, row) = row?;
            self.next = number.value() + 1;
            match record::decode(row.value()) {
                Ok(changes) => changes.into_iter().for_each(|change| {
                    found.targets += change.len() as u64;
                    take(change);
                }),
                Err(record::Damaged) => found.damaged_rows += 1,
            }
        }
        Ok(())
    }

    fn set_aside(&self) -> Result<PathBuf, JournalError> {
        let now = crate::clock::now().secs();
        let aside = self.path.with_file_name(format!("{FILE}.damaged-{now}"));
        let moved = fs::rename(&self.path, &aside);
        moved.map_err(|source| JournalError::Directory { path: self.path.clone(), source })?;
        Ok(aside)
    }
}

fn open(path: &Path) -> Result<Database, DatabaseError> {
    Builder::new().set_cache_size(CACHE).create(path)
}

/// Why the file cannot be read.
enum Unusable {
    /// It is not what was written.
    Damaged(String),
    /// Anything else.
    Other(JournalError),
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
            return Self::Other(JournalError::InUse { path: path.to_owned() });
        }
        Self::Damaged(error.to_string())
    }

    fn into_error(self, path: &Path) -> JournalError {
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
