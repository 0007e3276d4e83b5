//! The map that tells IPv6 from the top: packets see each change at once. And its labels, if any are kept.

mod labels;
mod room;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::labels::Label;
use filter_common::labels::pages::SIZES as PAGE_SIZES;
use filter_common::levels::labels::{all, directory, is_told, node_of, places};
use filter_common::levels::{Levels, Others, size};
use filter_common::sets::SetName;
use filter_common::target::Prefix6;

use super::KernelError;
use super::broker::request::{MapName, MapPart};
use super::maps::Maps;
use super::needs::{Labels, SixTargets, Wanted};
use super::pages::LabelPages;
use super::staged::{Both, InMap, OrderedBoth, Staged};
use super::ways::Ways;
use super::window::Window;
use room::{larger_for, words_of_labels};

/// The map in use, and the one that is about to take its place.
pub struct LevelMaps {
    maps: Staged<Built>,
    ordered: Option<Larger>,
}

/// A larger map that is being made, with one for its labels, if any are kept.
struct Larger {
    generation: u64,
    size: u32,
    label_bits: u32,
    map: OrderedBoth,
    /// It is there.
    made: Option<Both>,
}

struct Built {
    generation: u64,
    levels: Levels<Window>,
    labels: Option<LabelPages>,
}

/// What a judge must know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelsMap {
    /// Which map.
    pub generation: u64,
    /// How many words it has.
    pub size: u32,
    /// How many bits the number of pages of its labels has, if it has any.
    pub label_bits: Option<u32>,
}

impl LevelMaps {
    /// Nothing yet.
    pub const fn new(set: SetName) -> Self {
        Self { maps: Staged::new(MapName { set, part: MapPart::Levels }), ordered: None }
    }

    /// What the next judge must know of them; none if there are none.
    pub fn spec(&self) -> Option<LevelsMap> {
        self.maps.newest().map(|map| LevelsMap {
            generation: map.generation,
            size: map.levels.size(),
            label_bits: map.labels.as_ref().map(LabelPages::size_bits),
        })
    }

    /// The labels of what packets read.
    pub fn labels(&self) -> Option<&Window> {
        Some(self.maps.current()?.labels.as_ref()?.window())
    }

    /// Has the map labels, if there is one?
    pub fn is_labelled(&self) -> bool {
        self.maps.newest().is_none_or(|map| map.labels.is_some())
    }

    /// Has a copy made that has labels, unless the map has them.
    pub fn label_all(&mut self, maps: &mut Maps, wanted: &impl Wanted) -> Result<(), KernelError> {
        match self.size() {
            Some(size) if !self.is_labelled() => self.rebuild(size, maps, wanted),
            Some(_) | None => Ok(()),
        }
    }

    /// Gives up the labels of what packets read: no judge asks for them.
    pub fn forget_labels(&mut self) {
        self.maps.current_mut().into_iter().for_each(|map| map.labels = None);
    }

    /// The words that packets read.
    pub fn words(&self) -> Option<&Window> {
        self.maps.current().map(|map| map.levels.words())
    }

    /// Is there room for whatever takes these ways? Or as much as there may be, beside a table of this geometry.
    pub fn has_room(&self, table: Option<Geometry>, ways: &Ways) -> bool {
        self.maps.newest().is_none() || self.size_for(table, ways).is_none()
    }

    /// Begins to have the map made, beside a table of this geometry that is being made, in which whatever takes these ways has
    /// room; if it has none yet.
    pub fn order(&mut self, table: Geometry, ways: &Ways, maps: &mut Maps) -> Result<(), KernelError> {
        let Some(size) = self.size_for(Some(table), ways).filter(|_| self.ordered.is_none()) else {
            return Ok(());
        };
        let (generation, label_bits) = (maps.number(), self.label_bits());
        let of_labels = words_of_labels(size, label_bits);
        let map = self.maps.order_with_labels(generation, size, of_labels, maps)?;
        self.ordered = Some(Larger { generation, size, label_bits, map, made: None });
        Ok(())
    }

    /// Is that one being made?
    pub fn is_waiting(&mut self, maps: &mut Maps) -> Result<bool, KernelError> {
        let Some(larger) = self.ordered.as_mut().filter(|larger| larger.made.is_none()) else {
            return Ok(false);
        };
        match larger.map.collect(maps, false) {
            Ok(made) => {
                larger.made = made;
                Ok(larger.made.is_none())
            }
            Err(refused) => {
                self.forget_ordered(maps);
                Err(refused)
            }
        }
    }

    /// Is that one not there yet?
    pub fn is_awaited(&self) -> bool {
        self.ordered.as_ref().is_some_and(|larger| larger.made.is_none())
    }

    /// What the judge must know once that one has taken its place; none if none is there.
    pub fn foreseen(&self) -> Option<LevelsMap> {
        let larger = self.ordered.as_ref()?;
        let (_, labels) = larger.made.as_ref()?;
        let label_bits = labels.as_ref().map(|_| larger.label_bits);
        Some(LevelsMap { generation: larger.generation, size: larger.size, label_bits })
    }

    /// Nobody wants it any more.
    pub fn forget_ordered(&mut self, maps: &mut Maps) {
        if let Some(larger) = self.ordered.take() {
            self.maps.forget(larger.generation, larger.map.is_labelled(), maps);
        }
    }

    /// Has the map made, if there is none. It is made anew where whatever takes these ways has no room, beside a table of this
    /// geometry; where a larger one has been made aside; or where it is crowded by what has left.
    pub fn make_room(
        &mut self,
        table: Option<Geometry>,
        ways: &Ways,
        maps: &mut Maps,
        truth: &impl Wanted,
    ) -> Result<(), KernelError> {
        let aside = self.ordered.as_ref().filter(|larger| larger.made.is_some()).map(|larger| larger.size);
        let wanted = self.size_for(table, ways).max(aside);
        match (self.maps.newest().map(|map| &map.levels), wanted) {
            (None, Some(size)) => self.rebuild(size, maps, truth),
            (Some(levels), Some(size)) if size > levels.size() => self.rebuild(size, maps, truth),
            (Some(levels), _) if levels.is_worth_copying() => self.rebuild(levels.size(), maps, truth),
            (Some(_), _) | (None, None) => Ok(()),
        }
    }

    fn size_for(&self, table: Option<Geometry>, ways: &Ways) -> Option<u32> {
        larger_for(self.maps.newest().map(|map| &map.levels), table, ways)
    }

    /// How many words the map has, if there is one.
    fn size(&self) -> Option<u32> {
        self.maps.newest().map(|map| map.levels.size())
    }

    /// Has the smallest map made, if there is none.
    pub fn make_any(&mut self, maps: &mut Maps, wanted: &impl Wanted) -> Result<(), KernelError> {
        if self.maps.newest().is_some() { Ok(()) } else { self.rebuild(size::SMALLEST, maps, wanted) }
    }

    /// Has it made anew with more pages, where labels of what enters might have none.
    pub fn make_pages(&mut self, maps: &mut Maps, wanted: &impl Wanted) -> Result<(), KernelError> {
        let Some(map) = self.maps.newest() else { return Ok(()) };
        match map.labels.as_ref().and_then(|labels| labels.too_small_for(1)) {
            Some(larger) => self.make_anew(map.levels.size(), larger, maps, wanted),
            None => Ok(()),
        }
    }

    /// Has a copy of the map made, unless there is none, or a fresh one already.
    pub fn refresh(&mut self, maps: &mut Maps, wanted: &impl Wanted) -> Result<(), KernelError> {
        match self.size() {
            Some(size) if self.maps.fresh().is_none() => self.rebuild(size, maps, wanted),
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
    pub fn show(&mut self, prefix: Prefix6, wanted: &impl Wanted) {
        self.maps.newest_mut().into_iter().for_each(|map| map.show(prefix, wanted));
    }

    /// Asks anew for which list a prefix counts, if it is told here.
    pub fn relabel(&mut self, prefix: Prefix6, wanted: &impl Wanted) {
        self.maps.fresh_mut().into_iter().for_each(|map| map.relabel(prefix, wanted));
        self.maps.current_mut().into_iter().for_each(|map| map.relabel(prefix, wanted));
    }

    /// Hides a prefix, as far as what is wanted allows.
    pub fn hide(&mut self, prefix: Prefix6, wanted: &impl Wanted) {
        self.hide_fresh(prefix, wanted);
        self.maps.current_mut().into_iter().for_each(|map| map.hide(prefix, wanted));
    }

    /// The same in the fresh map alone.
    pub fn hide_fresh(&mut self, prefix: Prefix6, wanted: &impl Wanted) {
        self.maps.fresh_mut().into_iter().for_each(|map| map.hide(prefix, wanted));
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

    fn rebuild(&mut self, size: u32, maps: &mut Maps, wanted: &impl Wanted) -> Result<(), KernelError> {
        self.make_anew(size, self.label_bits(), maps, wanted)
    }

    /// The bits of the number of pages of labels that a copy of the newest map takes.
    fn label_bits(&self) -> u32 {
        let labels = self.maps.newest().and_then(|map| map.labels.as_ref());
        labels.map_or(*PAGE_SIZES.start(), LabelPages::size_bits)
    }

    /// A copy of the newest map, with so many pages of labels, if any are to be kept.
    fn make_anew(
        &mut self,
        size: u32,
        label_bits: u32,
        maps: &mut Maps,
        wanted: &impl Wanted,
    ) -> Result<(), KernelError> {
        let (generation, (window, labels)) = self.empty(size, label_bits, maps)?;
        let labels = labels.map(|labels| LabelPages::new(labels.0, directory(size), label_bits));
        let mut copy = Built { generation, levels: Levels::new(window, size), labels };
        self.maps.newest().into_iter().for_each(|map| map.levels.copy_to(&mut copy.levels));
        copy.label_all(wanted);
        self.maps.put(copy, maps);
        Ok(())
    }

    /// A map of zeroes, and one for labels, if any are to be kept: those that were begun, if they are of these sizes.
    fn empty(&mut self, size: u32, label_bits: u32, maps: &mut Maps) -> Result<(u64, Both), KernelError> {
        let is_it = |larger: &mut Larger| {
            larger.made.is_some() && (larger.size, larger.label_bits) == (size, label_bits)
        };
        if let Some(Larger { generation, made: Some(made), .. }) = self.ordered.take_if(is_it) {
            return Ok((generation, made));
        }
        let generation = maps.number();
        let window = self.maps.make(generation, size, maps)?;
        let labels = self.maps.make_labels(generation, words_of_labels(size, label_bits), maps)?;
        Ok((generation, (window, labels)))
    }
}

impl Built {
    /// Shows a prefix, whose label is there before it.
    fn show(&mut self, prefix: Prefix6, wanted: &impl Wanted) {
        let Self { levels, labels, .. } = self;
        if let (Some(labels), Some(places)) = (&mut *labels, places(levels.words(), prefix)) {
            labels.write6(levels.words(), places, |spot| wanted.label_of_six(spot));
        }
        let before = node_of(levels.words(), prefix);
        levels.show(prefix);
        let after = node_of(levels.words(), prefix);
        if let (Some(labels), Some(from), Some(to)) = (labels, before, after)
            && from != to
        {
            labels.move6(levels.words(), from, to);
        }
    }

    /// Hides a prefix; what another one still covers counts for that one's list.
    fn hide(&mut self, prefix: Prefix6, wanted: &impl Wanted) {
        self.levels.hide(prefix, &Rest(wanted));
        self.relabel(prefix, wanted);
    }

    fn relabel(&mut self, prefix: Prefix6, wanted: &impl Wanted) {
        let (Some(labels), words) = (&mut self.labels, self.levels.words()) else { return };
        if let Some(places) = places(words, prefix) {
            let told = places.filter(|(place, _)| is_told(words, *place));
            labels.write6(words, told, |spot| wanted.label_of_six(spot));
        }
    }

    fn label_all(&mut self, wanted: &impl Wanted) {
        if let Some(labels) = &mut self.labels {
            let words = self.levels.words();
            labels.write6(words, all(words), |spot| wanted.label_of_six(spot));
        }
    }
}

impl InMap for Built {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn is_labelled(&self) -> bool {
        self.labels.is_some()
    }
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

    fn labels_of_nets64(&self, nets: &[u64]) -> Vec<Label> {
        self.wanted.labels_of_nets64(nets)
    }
}

impl<W: Wanted> SixTargets for Beyond<'_, W> {
    fn six_after(&self, after: Option<Prefix6>) -> impl Iterator<Item = Prefix6> {
        self.wanted.six_after(after).filter(|prefix| !self.levels.tell(*prefix))
    }
}
