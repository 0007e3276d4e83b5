//! Lists selected from a database: the networks of countries or of autonomous systems.
//!
//! The selection is converted to plain lines, with each network once and adjacent networks joined. From there
//! on it is a list like any other: limits apply to these lines, and copies contain them. A database is read
//! as a whole, while registry files are read line by line. Only the selected ranges stay in memory.

mod choosing;
pub mod delegated;
mod files;
pub mod mmdb;
pub mod spans;

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use super::chosen::Database;
use super::file::{self, FileError};
use super::format::ReadOptions;
use super::limits::Limits;
use super::list::{self, ListFile};
use super::patience::ReadProgress;
use super::remarks::Remarks;
use crate::text::printable;
use choosing::Choosing;
pub use files::{is_of_another_choice, stamp};
use mmdb::{Leaf, Mmdb};
use spans::Spans;

/// Larger databases contain cities or companies.
const MOST_BYTES: u64 = 128 << 20;

/// The most missing codes that a warning lists.
const MOST_TOLD: usize = 10;

/// The number of bytes that are enough to recognise a file.
const BEGINNING: usize = 4096;

/// The networks that were selected.
#[derive(Debug)]
pub struct ChosenNetworks {
    spans: Spans,
    /// The names of the databases they come from.
    pub from: String,
    /// When the database was made, in seconds since 1970. For several files, the oldest time.
    pub built: Option<u64>,
    /// The selected codes or numbers that are not in the database.
    pub absent: Vec<String>,
}

impl ChosenNetworks {
    /// The networks as plain lines.
    pub fn lines(&self) -> impl Read {
        self.spans.lines()
    }
}

/// Reads the selected list. Its plain lines are also written to `copy`.
///
/// # Errors
/// If a file of the database cannot be read, is not a database, is damaged, or lacks data of the selected
/// kind.
pub fn list(
    database: &Database,
    limits: &Limits,
    how: &ReadOptions,
    copy: Option<&mut (dyn Write + Send)>,
    progress: &ReadProgress,
) -> Result<ListFile, FileError> {
    let path = database.path();
    let networks = read(database, limits.max_entries, progress)?;
    // The remaining work, such as sorting, does not read the files.
    progress.end();
    let file = match copy {
        Some(copy) => {
            list::parse(path, CopyingReader { lines: networks.lines(), copy }, limits.max_entries, how)?
        }
        None => list::parse(path, networks.lines(), limits.max_entries, how)?,
    };
    let remarks = Remarks { built: networks.built, absent: absent(&networks) };
    Ok(ListFile { remarks, ..file })
}

/// Reads the selected networks: not many more than `most` ranges.
///
/// # Errors Those of [`list()`].
pub fn read(database: &Database, most: u64, progress: &ReadProgress) -> Result<ChosenNetworks, FileError> {
    let (choosing, spans) = (Choosing::new(&database.chosen), Spans::new(most));
    let mut reading = DatabaseReading { choosing, spans, from: Vec::new(), built: None };
    for path in &files::of(&database.paths)? {
        reading.take(path, progress)?;
    }
    let DatabaseReading { choosing, mut spans, from, built } = reading;
    spans.join();
    Ok(ChosenNetworks { spans, from: from.join(", "), built, absent: choosing.absent() })
}

/// A missing code may be a mistake, or may have no networks.
fn absent(networks: &ChosenNetworks) -> Option<String> {
    let ChosenNetworks { from, absent, .. } = networks;
    let (told, more) = absent.split_at(absent.len().min(MOST_TOLD));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let absent = format!("its database ({from}) has no network of {}{more}", told.join(", "));
    (!told.is_empty()).then_some(absent)
}

struct DatabaseReading<'a> {
    choosing: Choosing<'a>,
    spans: Spans,
    from: Vec<String>,
    built: Option<u64>,
}

impl DatabaseReading<'_> {
    fn take(&mut self, path: &Path, progress: &ReadProgress) -> Result<(), FileError> {
        let failed = |error| FileError::new(path, error);
        let mut file = file::open(path)?;
        let mut beginning = Vec::new();
        (&file).take(BEGINNING as u64).read_to_end(&mut beginning).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let file = ProgressReader { file, progress };
        if delegated::is_one(&beginning) {
            self.take_delegated(path, file)
        } else {
            self.take_mmdb(path, file)
        }
    }

    fn take_delegated(&mut self, path: &Path, file: impl Read) -> Result<(), FileError> {
        if !self.choosing.is_by_country() {
            return Err(unusable(
                path,
                "a registry's file has no AS numbers",
                "for `asn:` use a database of networks, such as GeoLite2-ASN.mmdb",
            ));
        }
        let Self { choosing, spans, .. } = self;
        let read = delegated::read(file, |country| choosing.wants(Some(country), None), spans);
        let read = read.map_err(|error| FileError::new(path, error))?;
        if let Some((found, told)) = read.is_truncated() {
            let why = format!("it has {found} lines of networks, but says that it has {told}");
            return Err(unusable(path, &why, "download it again"));
        }
        self.note(format!("{}'s allocations", read.registry), read.built());
        Ok(())
    }

    fn take_mmdb(&mut self, path: &Path, file: impl Read) -> Result<(), FileError> {
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| FileError::new(path, error))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(FileError::TooLarge { path: path.into(), most: MOST_BYTES });
        }
        if !mmdb::is_one(&bytes) {
            let (why, remedy) = looks(&bytes);
            return Err(unusable(path, why, remedy));
        }
        let damaged = |damage: mmdb::DatabaseDamage| {
            unusable(path, &format!("the database is damaged: {damage}"), "download it again")
        };
        let database = Mmdb::new(&bytes).map_err(damaged)?;
        let (mut known, Self { choosing, spans, .. }) = (0_u64, &mut *self);
        let read = database.each(|leaf, record| {
            known += u64::from(choosing.knows(&record));
            if choosing.wants(record.country, record.autonomous) {
                match leaf {
                    Leaf::V4(prefix) => spans.push4(prefix.first(), prefix.last()),
                    Leaf::V6(prefix) => spans.push6(prefix),
                }
            }
            !spans.join_if_full()
        });
        read.map_err(damaged)?;
        if known == 0 {
            let (what, like) = choosing.needed();
            let why = format!("this database ({}) has no {what}", printable::excerpt(&database.kind));
            return Err(unusable(path, &why, &format!("use one that does, such as {like}")));
        }
        self.note(printable::excerpt(&database.kind), database.built);
        Ok(())
    }

    fn note(&mut self, from: String, built: Option<u64>) {
        self.built = if self.from.is_empty() { built } else { self.built.min(built) };
        self.from.push(from);
    }
}

fn unusable(path: &Path, why: &str, remedy: &str) -> FileError {
    FileError::Unusable { path: path.into(), why: why.to_owned(), remedy: remedy.to_owned() }
}

/// The kind of a file that is not a database, and a remedy.
fn looks(bytes: &[u8]) -> (&'static str, &'static str) {
    match bytes {
        [] => ("the file is empty", "download it again"),
        [0x1f, 0x8b, ..] | [b'P', b'K', ..] => ("it is compressed", "unpack it, and name the .mmdb file"),
        [b'<', ..] => ("it is HTML, so the download probably failed", "download it again"),
        [b'n', b'e', b't', b'w', b'o', b'r', b'k', b',', ..] => {
            ("it is a table (CSV), not a database", "download the .mmdb file of the same name")
        }
        _ => (
            "it is neither a database (.mmdb) nor a registry's file (delegated-*), or its end is missing",
            "download it again, or name another file",
        ),
    }
}

/// Reports progress whenever bytes are read.
struct ProgressReader<'a> {
    file: File,
    progress: &'a ReadProgress,
}

impl Read for ProgressReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.progress.tell();
        self.file.read(buffer)
    }
}

/// Also writes everything that is read into a copy.
struct CopyingReader<'a, R> {
    lines: R,
    copy: &'a mut dyn Write,
}

impl<R: Read> Read for CopyingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.lines.read(buffer)?;
        self.copy.write_all(&buffer[..read])?;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "../../../../tests/harness/mmdb.rs"]
mod samples;
#[cfg(test)]
mod tests;
