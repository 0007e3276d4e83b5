//! Reads MaxMind's database format, version 2, <https://maxmind.github.io/MaxMind-DB/>. A binary tree has
//! leaves that name records in a data section. A description of both is at the end of the file.
//!
//! filterd has its own reader because reading any file must end. The crate `maxminddb` follows pointers while
//! it skips values, and does not end in reasonable time if they branch. The tests compare both readers.

mod record;
mod tree;
mod value;

use std::collections::HashMap;

pub use record::NetworkRecord;
pub use tree::Leaf;
use tree::Tree;
use value::DataSection;
pub use value::DatabaseDamage;

/// The marker before the description.
pub const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

/// The description is within this many bytes of the end.
const DESCRIPTION: usize = 128 * 1024;

/// The zero bytes between tree and data.
const GAP: usize = 16;

/// The number of records to remember: a country database has hundreds, and a network database a hundred
/// thousand.
const REMEMBERED: usize = 1 << 18;

/// A database in memory.
#[derive(Debug)]
pub struct Mmdb<'a> {
    tree: Tree<'a>,
    data: &'a [u8],
    /// The type that the file states, as in `GeoLite2-Country`.
    pub kind: String,
    /// When it was built, in seconds since 1970.
    pub built: Option<u64>,
}

/// True if the end of the file has the marker of a description.
#[must_use]
pub fn is_one(bytes: &[u8]) -> bool {
    marker(bytes).is_some()
}

fn marker(bytes: &[u8]) -> Option<usize> {
    let from = bytes.len().saturating_sub(DESCRIPTION);
    bytes[from..].windows(MARKER.len()).rposition(|window| window == MARKER).map(|at| from + at)
}

impl<'a> Mmdb<'a> {
    /// Reads the description.
    ///
    /// # Errors
    /// If there is none, or it does not fit the file.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DatabaseDamage> {
        let at = marker(bytes).ok_or(DatabaseDamage("it has no description at its end"))?;
        let mut described = DataSection::new(&bytes[at + MARKER.len()..]);
        let mut number = |name| match described.field(0, name)? {
            Some(at) => described.number(at),
            None => Ok(None),
        };
        if number("binary_format_major_version")? != Some(2) {
            return Err(DatabaseDamage("it has another version of the format than 2"));
        }
        let (count, record_bits) = (number("node_count")?, number("record_size")?);
        let (version, built) = (number("ip_version")?, number("build_epoch")?);
        let kind = match described.field(0, "database_type")? {
            Some(at) => described.text(at)?.unwrap_or_default(),
            None => "",
        };
        let (tree, length) = Tree::new(&bytes[..at], count, record_bits, version)?;
        let data = bytes[..at].get(length + GAP..).ok_or(DatabaseDamage("it ends before its data"))?;
        Ok(Self { tree, data, kind: kind.to_owned(), built: built.filter(|built| *built > 0) })
    }

    /// Calls `take` with every network and its record once, in ascending order of the tree, until `take`
    /// returns false.
    ///
    /// # Errors
    /// If the tree or a record is invalid.
    pub fn each(&self, mut take: impl FnMut(Leaf, NetworkRecord) -> bool) -> Result<(), DatabaseDamage> {
        let mut known: HashMap<usize, NetworkRecord> = HashMap::new();
        let mut values = DataSection::new(self.data);
        self.tree.walk(|leaf, record| {
            let at = record.checked_sub(GAP).ok_or(DatabaseDamage("a leaf of its tree names no data"))?;
            let record = match known.get(&at) {
                Some(record) => *record,
                None => {
                    let record = NetworkRecord::read(&mut values, at)?;
                    if known.len() >= REMEMBERED {
                        known.clear();
                    }
                    known.insert(at, record);
                    record
                }
            };
            Ok(take(leaf, record))
        })
    }
}

#[cfg(test)]
mod tests;
