//! The two kinds of cuckoo tables, for IPv4 addresses and for IPv6 prefixes. A kind knows the settings that a
//! judge needs to read the table, and the source of the entries when the table is rebuilt.

mod addresses;
mod six;
#[cfg(test)]
mod tests;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::scheme::Scheme;
use filter_common::labels::{Label, LabelBytes};
use filter_common::stash;
use filter_common::target::Prefix6;

use super::KernelError;
use super::broker::request::MapPart;
use super::broker::size;
use super::moving::Moving;
use super::needs::SixTargets;
use super::window::Window;
pub use addresses::AddressTable;
pub use six::SixTable;

/// The place of a table's labels, if it has any.
pub type TableLabels = Option<LabelBytes<Window>>;

/// A table of this kind while packets read it.
pub type Live<K> = Moving<<K as Kind>::Scheme, Window, TableLabels>;

/// The key of an entry.
pub type Key<K> = <<K as Kind>::Scheme as Scheme>::Key;

/// An entry to be added: its key and its label.
pub type TableEntry<K> = (Key<K>, Label);

/// All entries of a table, for another thread to put into another table.
pub type Entries<K> = Box<dyn Iterator<Item = TableEntry<K>> + Send>;

pub trait Kind: Copy + Send + 'static {
    /// Maps keys to buckets and codes.
    type Scheme: Scheme<Key: PartialEq + Send> + Copy + Send;

    /// The map of its set that holds the table.
    const PART: MapPart;

    /// The name in the log.
    const NAME: &str;

    /// The smallest geometry that takes this many entries.
    fn smallest_for(entries: u64) -> Option<Geometry>;

    /// The most entries that any table of this kind takes.
    fn most() -> u64;

    /// A table with new secret keys, with labels or without.
    fn new(generation: u64, geometry: Geometry, is_labelled: bool) -> Self;

    /// The number of its map.
    fn generation(&self) -> u64;

    fn geometry(&self) -> Geometry;

    fn is_labelled(&self) -> bool;

    /// Records that the table has no labels any more.
    fn forget_labels(&mut self);

    /// The scheme under the table's key.
    fn scheme(&self) -> Self::Scheme;

    /// All entries for this table: copied from `live` if its words contain whole entries, otherwise from
    /// `wanted`.
    fn entries<'a>(
        &'a self,
        live: Option<&'a Live<Self>>,
        wanted: &'a impl SixTargets,
    ) -> impl Iterator<Item = TableEntry<Self>> + 'a;

    /// A copy of all entries of `live`, if there is such a table. None if its words do not contain whole
    /// entries.
    fn copied(live: Option<&Live<Self>>) -> Option<Entries<Self>>;

    /// Up to `most` wanted entries after `after`, and the last of them. Used if `copied` returns none.
    fn page(
        &self,
        wanted: &impl SixTargets,
        after: Option<Prefix6>,
        most: usize,
    ) -> (Vec<TableEntry<Self>>, Option<Prefix6>);

    /// A geometry for this many entries that also has half as much room again as `limit`. A table that grows
    /// because it is full is then rarely rebuilt, and never twice as large as necessary.
    fn grown(limit: u64, entries: u64) -> Result<Geometry, KernelError> {
        let half_as_many_again = limit.saturating_add(limit / 2).min(Self::most());
        Self::geometry_for(entries.max(half_as_many_again))
    }

    /// Words of the table's map.
    fn words(&self) -> u32 {
        stash::WORDS + self.geometry().words()
    }

    /// Words of the label map.
    fn label_words(&self) -> u32 {
        size::labels_beside(self.geometry())
    }

    /// The smallest geometry that takes this many entries, or the error to report if there is none.
    fn geometry_for(entries: u64) -> Result<Geometry, KernelError> {
        Self::smallest_for(entries).ok_or_else(|| KernelError::TooMany { entries, most: Self::most() })
    }
}

/// A secret key. Each table gets new keys. They are never logged, and never written to disk.
fn secret<const WORDS: usize>() -> [u64; WORDS] {
    std::array::from_fn(|_| {
        getrandom::u64().expect("the kernel always has random numbers once it has booted")
    })
}
