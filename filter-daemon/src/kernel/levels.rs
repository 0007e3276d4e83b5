//! The map that tells IPv6 from the top: packets see each change at once.

use filter_common::cuckoo::geometry::Geometry;
use filter_common::labels::Label;
use filter_common::levels::{Levels, Others, SIZES};
use filter_common::sets::SetName;
use filter_common::target::Prefix6;

use super::KernelError;
use super::broker::request::{MapName, MapPart};
use super::maps::Maps;
use super::needs::{Labels, SixTargets, Wanted};
use super::staged::{InMap, Staged};
use super::window::Window;

/// Beside a table of this many times their words they are small.
const SMALL_PART: u32 = 4;

/// The map in use, and the one that is about to take its place.
pub struct LevelMaps {
    maps: Staged<Built>,
}

struct Built {
    generation: u64,
    levels: Levels<Window>,
}

/// What a judge must know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelsMap {
    /// Which map.
    pub generation: u64,
    /// How many bits the number of its words has.
    pub size_bits: u32,
}

impl LevelMaps {
    /// Nothing yet.
    pub const fn new(set: SetName) -> Self {
        Self { maps: Staged::new(MapName { set, part: MapPart::Levels }) }
    }

    /// What the next judge must know of them; none if there are none.
    pub fn spec(&self) -> Option<LevelsMap> {
        let spec = |map: &Built| LevelsMap { generation: map.generation, size_bits: map.levels.size_bits() };
        self.maps.newest().map(spec)
    }

    /// The words that packets read.
    pub fn words(&self) -> Option<&Window> {
        self.maps.current().map(|map| map.levels.words())
    }

    /// Has the map made, if there is none. It is made anew where it is small beside a table of this geometry, or where it
    /// is crowded by what has left.
    pub fn make_room(&mut self, table: Option<Geometry>, maps: &mut Maps) -> Result<(), KernelError> {
        let wanted = size_beside(table);
        match self.maps.newest().map(|map| &map.levels) {
            Some(levels) if levels.size_bits() >= wanted && !levels.is_worth_copying() => Ok(()),
            Some(levels) => self.rebuild(wanted.max(levels.size_bits()), maps),
            None => self.rebuild(wanted, maps),
        }
    }

    /// Has the smallest map made, if there is none.
    pub fn make_any(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        if self.maps.newest().is_some() { Ok(()) } else { self.rebuild(*SIZES.start(), maps) }
    }

    /// Has a copy of the map made, unless there is none, or a fresh one already.
    pub fn refresh(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        match self.maps.newest().map(|map| map.levels.size_bits()) {
            Some(size_bits) if self.maps.fresh().is_none() => self.rebuild(size_bits, maps),
            Some(_) | None => Ok(()),
        }
    }

    /// Makes way for a prefix. True if it is told here, and not by the table.
    pub fn make_way(&mut self, prefix: Prefix6) -> bool {
        self.maps.newest_mut().is_some_and(|map| {
            map.levels.make_way(prefix);
            map.levels.tells(prefix)
        })
    }

    /// Shows a prefix for which way has been made. What is not told here stands in the table already.
    pub fn show(&mut self, prefix: Prefix6) {
        self.maps.newest_mut().into_iter().for_each(|map| map.levels.show(prefix));
    }

    /// Hides a prefix, as far as what is wanted allows.
    pub fn hide(&mut self, prefix: Prefix6, wanted: &impl Wanted) {
        self.hide_fresh(prefix, wanted);
        self.maps.current_mut().into_iter().for_each(|map| map.levels.hide(prefix, &Rest(wanted)));
    }

    /// The same in the fresh map alone.
    pub fn hide_fresh(&mut self, prefix: Prefix6, wanted: &impl Wanted) {
        self.maps.fresh_mut().into_iter().for_each(|map| map.levels.hide(prefix, &Rest(wanted)));
    }

    /// Is this prefix told here, and not by the table?
    pub fn tell(&self, prefix: Prefix6) -> bool {
        self.maps.newest().is_some_and(|map| map.levels.tells(prefix))
    }

    /// Plans that there is no map.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.maps.drop_next(maps);
    }

    /// Forgets the plan.
    pub fn discard(&mut self, maps: &mut Maps) {
        self.maps.discard(maps);
    }

    /// The plan has come true.
    pub fn publish(&mut self) {
        self.maps.publish();
    }

    fn rebuild(&mut self, size_bits: u32, maps: &mut Maps) -> Result<(), KernelError> {
        let generation = maps.number();
        let window = self.maps.make(generation, 1 << size_bits, maps)?;
        let mut levels = Levels::new(window, size_bits);
        self.maps.newest().into_iter().for_each(|map| map.levels.copy_to(&mut levels));
        self.maps.put(Built { generation, levels }, maps);
        Ok(())
    }
}

impl InMap for Built {
    fn generation(&self) -> u64 {
        self.generation
    }
}

/// The bits of a size that is small beside a table of this geometry; the smallest there is otherwise.
fn size_beside(table: Option<Geometry>) -> u32 {
    let words = table.map_or(0, |geometry| geometry.words() / SMALL_PART);
    let largest = SIZES.rev().find(|bits| 1 << bits <= words);
    largest.unwrap_or(*SIZES.start())
}

/// Who else is wanted.
struct Rest<'a, W>(&'a W);

impl<W: Wanted> Others for Rest<'_, W> {
    fn cover(&self, prefix: Prefix6, shortest: u8) -> bool {
        self.0.covers_six(prefix, shortest)
    }

    fn are_within(&self, prefix: Prefix6) -> bool {
        self.0.has_six_within(prefix)
    }
}

/// What is wanted, and not told by the levels: that belongs into the table.
pub struct Beyond<'a, W> {
    /// Who tells the rest.
    pub levels: &'a LevelMaps,
    /// All of it.
    pub wanted: &'a W,
}

impl<W: Wanted> Labels for Beyond<'_, W> {
    fn label_of_six(&self, prefix: Prefix6) -> Label {
        self.wanted.label_of_six(prefix)
    }
}

impl<W: Wanted> SixTargets for Beyond<'_, W> {
    fn six_after(&self, after: Option<Prefix6>) -> impl Iterator<Item = Prefix6> {
        self.wanted.six_after(after).filter(|prefix| !self.levels.tell(*prefix))
    }
}
