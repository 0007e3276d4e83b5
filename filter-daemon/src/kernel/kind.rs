//! The two kinds of cuckoo tables, of IPv4 addresses and of IPv6 prefixes: what a judge must know to look into one, and
//! where its entries come from when it is made anew.

mod addresses;
mod six;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::scheme::Scheme;
use filter_common::stash;
use filter_common::target::Prefix6;

use super::KernelError;
use super::broker::request::MapPart;
use super::moving::Moving;
use super::needs::SixTargets;
use super::window::Window;
pub use addresses::Addresses;
pub use six::SixTable;

/// Where the words of a table are, and the one way by which any of them changes: entries that come, move, leave or are
/// filled into a table made anew, in buckets and stashes alike, do so by [`WordsMut::store`](filter_common::WordsMut).
///
/// Whatever is to be kept beside the slots (a label for each code) goes here: a type around `Window` whose `store` looks
/// which lanes of the word change and first writes what belongs to their codes, then the word. The label of an entry that
/// comes in is set aside before it; that of one that moves is still beside the slot it comes from, since no code leaves
/// its old slot before it stands in its new one.
pub type TableWords = Window;

/// A table of this kind under running readers.
pub type Live<K> = Moving<<K as Kind>::Scheme, TableWords>;

/// What entries of such a table are known by.
pub type Key<K> = <<K as Kind>::Scheme as Scheme>::Key;

/// All keys of a table, which may be put into another one elsewhere.
pub type Keys<K> = Box<dyn Iterator<Item = Key<K>> + Send>;

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

    /// A table under new secret keys.
    fn new(generation: u64, geometry: Geometry) -> Self;

    /// Which map.
    fn generation(&self) -> u64;

    /// Its geometry.
    fn geometry(&self) -> Geometry;

    /// Who stands where.
    fn scheme(&self) -> Self::Scheme;

    /// Everything that is to be in this table: what `live` holds where that tells its entries, else what is wanted.
    fn keys<'a>(
        &'a self,
        live: Option<&'a Live<Self>>,
        wanted: &'a impl SixTargets,
    ) -> impl Iterator<Item = Key<Self>> + 'a;

    /// A copy of everything that `live` holds, if there is such a table; none if that does not tell its entries.
    fn copied(live: Option<&Live<Self>>) -> Option<Keys<Self>>;

    /// Where it does not: up to `most` of the wanted entries behind `after`, and the last of them.
    fn page(
        &self,
        wanted: &impl SixTargets,
        after: Option<Prefix6>,
        most: usize,
    ) -> (Vec<Key<Self>>, Option<Prefix6>);

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
