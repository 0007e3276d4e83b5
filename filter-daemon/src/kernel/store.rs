//! One cuckoo table in the kernel, and the one that is about to take its place.

use filter_common::cuckoo::Full;
use filter_common::cuckoo::scheme::Scheme;

use super::broker::Broker;
use super::moving::Moving;
use super::spec::Kind;
use super::window::Window;
use super::{KernelError, Occupancy};

/// The table that packets read, and a fresh one beside it that none reads yet.
pub struct Store<K: Kind> {
    current: Option<Built<K>>,
    fresh: Option<Built<K>>,
}

/// A table with what a judge must know of it.
struct Built<K: Kind> {
    kind: K,
    live: Moving<K::Scheme, Window>,
}

impl<K> Store<K>
where
    K: Kind,
    <K::Scheme as Scheme>::Key: PartialEq,
{
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { current: None, fresh: None }
    }

    /// What the next judge must know of the table; none if there is no table.
    pub fn kind(&self) -> Option<&K> {
        self.newest().map(|built| &built.kind)
    }

    /// The same, to be changed without moving the table.
    pub fn kind_mut(&mut self) -> Option<&mut K> {
        self.newest_mut().map(|built| &mut built.kind)
    }

    /// How many entries fit before the table must be built larger.
    pub fn limit(&self) -> u64 {
        self.newest().map_or(0, |built| built.live.table().geometry().limit())
    }

    /// Puts an empty table of this kind beside the one in use.
    pub fn build(&mut self, kind: K, broker: &mut Broker) -> Result<(), KernelError> {
        let (generation, geometry) = kind.identity();
        let window = broker.make(K::MAP, generation, kind.words())?;
        self.fresh = Some(Built { live: Moving::new(kind.scheme(), geometry, window, K::HEAD), kind });
        Ok(())
    }

    /// Puts a filled table of this kind beside the one in use.
    pub fn put(&mut self, kind: K, live: Moving<K::Scheme, Window>) {
        self.fresh = Some(Built { kind, live });
    }

    /// Is there a table that packets do not read yet?
    pub fn has_fresh(&self) -> bool {
        self.fresh.is_some()
    }

    /// Everything the newest table holds, in the words of its scheme.
    pub fn newest_live(&self) -> Option<&Moving<K::Scheme, Window>> {
        self.newest().map(|built| &built.live)
    }

    /// The words of the table that packets read.
    pub fn words(&self) -> Option<&Window> {
        self.current.as_ref().map(|built| built.live.table().words().all())
    }

    /// Is `key` there?
    pub fn contains(&self, key: <K::Scheme as Scheme>::Key) -> bool {
        self.newest_live().is_some_and(|live| live.contains(key))
    }

    /// Brings the homes of these keys near, since they will be wanted soon: memory is waited for once, not once for each.
    pub fn prefetch(&self, keys: impl Iterator<Item = <K::Scheme as Scheme>::Key>) {
        if let Some(live) = self.newest_live() {
            keys.for_each(|key| live.table().prefetch(key));
        }
    }

    /// Lets `key` in. The caller knows that it is not there.
    pub fn add(&mut self, key: <K::Scheme as Scheme>::Key) -> Result<(), Full> {
        if let Some(built) = &mut self.fresh {
            built.live.fill(key)
        } else if let Some(built) = &mut self.current {
            built.live.add(key)
        } else {
            Err(Full)
        }
    }

    /// Lets all `keys` into the fresh table, none of which is there; gives back those for which there is no room.
    pub fn fill_all(
        &mut self,
        keys: impl Iterator<Item = <K::Scheme as Scheme>::Key>,
    ) -> Vec<<K::Scheme as Scheme>::Key> {
        match &mut self.fresh {
            Some(built) => built.live.fill_all(keys),
            None => keys.collect(),
        }
    }

    /// Takes `key` out if it is there; says whether it was.
    pub fn remove(&mut self, key: <K::Scheme as Scheme>::Key) -> bool {
        let Some(built) = self.newest_mut() else { return false };
        let is_there = built.live.contains(key);
        if is_there {
            built.live.remove(key);
        }
        is_there
    }

    /// Lets packets read the fresh table, whose judge has just been published. True if there is one.
    pub fn publish(&mut self) -> bool {
        let is_new = self.fresh.is_some();
        if is_new {
            self.current = self.fresh.take();
        }
        is_new
    }

    /// Is the table much larger than one for so many entries would be? What is small stays as it is.
    pub fn is_roomy_for(&self, entries: u64) -> bool {
        const MUCH: u64 = 8;
        const SMALL: u64 = 16 * 1024;
        self.limit() > SMALL && self.limit() > MUCH * entries
    }

    /// Forgets the fresh table.
    pub fn discard(&mut self) {
        self.fresh = None;
    }

    /// Does the next step for entries on the move in the table that packets read.
    pub fn advance(&mut self) -> bool {
        self.current.as_mut().is_some_and(|built| built.live.advance())
    }

    /// Should those who add many entries wait a while?
    pub fn is_crowded(&self) -> bool {
        self.current.as_ref().is_some_and(|built| built.live.is_crowded())
    }

    /// How many entries a table must take to be built anew for one more: in a fresh one, crowded under its key, more than
    /// its geometry takes; else as many as there are.
    pub fn one_more(&self) -> u64 {
        let in_use = self.newest().map_or(0, |built| built.live.entries());
        if self.fresh.is_some() { self.limit() + 1 } else { in_use + 1 }
    }

    /// Are entries on the move, or waiting to be?
    pub fn is_unsettled(&self) -> bool {
        self.current.as_ref().is_some_and(|built| built.live.is_unsettled())
    }

    /// Are there pending entries for whom there is no room?
    pub fn is_stuck(&self) -> bool {
        self.current.as_ref().is_some_and(|built| built.live.is_stuck())
    }

    /// How many entries have moved in the table that packets read.
    pub fn moves(&self) -> u64 {
        self.current.as_ref().map_or(0, |built| built.live.moves())
    }

    /// How full it is.
    pub fn occupancy(&self) -> Occupancy {
        self.current.as_ref().map_or_else(Occupancy::default, |built| Occupancy {
            entries: built.live.entries(),
            capacity: built.live.table().geometry().limit(),
            bytes: built.live.table().words().all().bytes(),
        })
    }

    fn newest(&self) -> Option<&Built<K>> {
        self.fresh.as_ref().or(self.current.as_ref())
    }

    fn newest_mut(&mut self) -> Option<&mut Built<K>> {
        self.fresh.as_mut().or(self.current.as_mut())
    }
}
