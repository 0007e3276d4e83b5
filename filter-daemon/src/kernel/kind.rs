//! The two kinds of cuckoo tables, of IPv4 addresses and of IPv6 prefixes: what a judge must know to look into one, and
//! where its entries come from when it is made anew.

mod addresses;
mod six;
#[cfg(test)]
mod tests;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::scheme::Scheme;
use filter_common::labels::{Bytes, Label};
use filter_common::stash;
use filter_common::target::Prefix6;

use super::KernelError;
use super::broker::request::MapPart;
use super::broker::size;
use super::moving::Moving;
use super::needs::SixTargets;
use super::window::Window;
pub use addresses::Addresses;
pub use six::SixTable;

/// Where the labels of a table are, if it has any.
pub type TableLabels = Option<Bytes<Window>>;

/// A table of this kind under running readers.
pub type Live<K> = Moving<<K as Kind>::Scheme, Window, TableLabels>;

/// What entries of such a table are known by.
pub type Key<K> = <<K as Kind>::Scheme as Scheme>::Key;

/// One that comes into such a table: its key, and the list it counts for.
pub type Entry<K> = (Key<K>, Label);

/// All entries of a table, which may be put into another one elsewhere.
pub type Entries<K> = Box<dyn Iterator<Item = Entry<K>> + Send>;

/// A kind of cuckoo table.
pub trait Kind: Copy + Send + 'static {
    /// Who stands where in it.
    type Scheme: Scheme<Key: PartialEq + Send> + Copy + Send;

    /// Which map of its set it lives in.
    const PART: MapPart;

    /// What people call it.
    const NAME: &str;

    /// The smallest geometry that takes so many entries.
    fn smallest_for(entries: u64) -> Option<Geometry>;

    /// The most entries that any table of this kind takes.
    fn most() -> u64;

    /// A table under new secret keys, with labels or without.
    fn new(generation: u64, geometry: Geometry, is_labelled: bool) -> Self;

    /// Which map.
    fn generation(&self) -> u64;

    /// Its geometry.
    fn geometry(&self) -> Geometry;

    /// Has it labels?
    fn is_labelled(&self) -> bool;

    /// It has none any more.
    fn forget_labels(&mut self);

    /// Who stands where.
    fn scheme(&self) -> Self::Scheme;

    /// Everything that is to be in this table: what `live` holds where that tells its entries, else what is wanted.
    fn entries<'a>(
        &'a self,
        live: Option<&'a Live<Self>>,
        wanted: &'a impl SixTargets,
    ) -> impl Iterator<Item = Entry<Self>> + 'a;

    /// A copy of everything that `live` holds, if there is such a table; none if that does not tell its entries.
    fn copied(live: Option<&Live<Self>>) -> Option<Entries<Self>>;

    /// Where it does not: up to `most` of the wanted entries behind `after`, and the last of them.
    fn page(
        &self,
        wanted: &impl SixTargets,
        after: Option<Prefix6>,
        most: usize,
    ) -> (Vec<Entry<Self>>, Option<Prefix6>);

    /// The smallest geometry that takes so many entries, and half as many again as one with this limit does: what grows from
    /// itself is then seldom made anew, and never twice as large as it must be.
    fn grown(limit: u64, entries: u64) -> Result<Geometry, KernelError> {
        let half_as_many_again = limit.saturating_add(limit / 2).min(Self::most());
        Self::geometry_for(entries.max(half_as_many_again))
    }

    /// Words of its map.
    fn words(&self) -> u32 {
        stash::WORDS + self.geometry().words()
    }

    /// Words of the map of its labels.
    fn label_words(&self) -> u32 {
        size::labels_beside(self.geometry())
    }

    /// The smallest geometry that takes so many entries, or what to say if none does.
    fn geometry_for(entries: u64) -> Result<Geometry, KernelError> {
        Self::smallest_for(entries).ok_or_else(|| KernelError::TooMany { entries, most: Self::most() })
    }
}

/// A key that nobody else knows; made anew for every table, and never written anywhere.
fn secret<const WORDS: usize>() -> [u64; WORDS] {
    std::array::from_fn(|_| {
        getrandom::u64().expect("the kernel always has random numbers once it has booted")
    })
}
