//! The map that holds short IPv6 prefixes by levels, and its labels if any are kept. Packets see each change
//! at once.

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
use super::needs::{LabelSource, SixTargets, WantedTargets};
use super::pages::LabelPages;
use super::staged::{InMap, MapAndLabels, OrderedMapAndLabels, Staged};
use super::ways::Ways;
use super::window::Window;
use room::{larger_for, words_of_labels};

/// The map in use, and the staged one that replaces it.
pub struct LevelMaps {
    maps: Staged<BuiltLevels>,
    ordered: Option<OrderedLevels>,
}

/// A larger map that is being made, and the map for its labels if any are kept.
struct OrderedLevels {
    generation: u64,
    size: u32,
    label_bits: u32,
    map: OrderedMapAndLabels,
    /// Filled once the map is made.
    made: Option<MapAndLabels>,
}

struct BuiltLevels {
    generation: u64,
    levels: Levels<Window>,
    labels: Option<LabelPages>,
}

/// The settings that a judge needs to read the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelsMap {
    pub generation: u64,
    /// The number of words in the map.
    pub size: u32,
    /// Bits in the number of label pages, if there are labels.
    pub label_bits: Option<u32>,
}

impl LevelMaps {
    pub const fn new(set: SetName) -> Self {
        Self { maps: Staged::new(MapName { set, part: MapPart::Levels }), ordered: None }
    }

    /// The settings for the next judge; none if there is no map.
    pub fn spec(&self) -> Option<LevelsMap> {
        self.maps.newest().map(|map| LevelsMap {
            generation: map.generation,
            size: map.levels.size(),
            label_bits: map.labels.as_ref().map(LabelPages::size_bits),
        })
    }

    /// The labels that packets read.
    pub fn labels(&self) -> Option<&Window> {
        Some(self.maps.current()?.labels.as_ref()?.window())
    }

    /// True if the map has labels, or if there is no map.
    pub fn is_labelled(&self) -> bool {
        self.maps.newest().is_none_or(|map| map.labels.is_some())
    }

    /// Makes a copy with labels, unless the map has them.
    pub fn label_all(&mut self, maps: &mut Maps, wanted: &impl WantedTargets) -> Result<(), KernelError> {
        match self.size() {
            Some(size) if !self.is_labelled() => self.rebuild(size, maps, wanted),
            Some(_) | None => Ok(()),
        }
    }

    /// Releases the labels of the current map: no judge reads them.
    pub fn forget_labels(&mut self) {
        self.maps.current_mut().into_iter().for_each(|map| map.labels = None);
    }

    /// The words of the current map, which packets read.
    pub fn words(&self) -> Option<&Window> {
        self.maps.current().map(|map| map.levels.words())
    }

    /// True if the map has room for these ways, or has reached its limit for a table of this geometry.
    pub fn has_room(&self, table: Option<Geometry>, ways: &Ways) -> bool {
        self.maps.newest().is_none() || self.size_for(table, ways).is_none()
    }

    /// Starts making a larger map if the current one lacks room for these ways. The limit is that of a table
    /// of this geometry, which is being made as well.
    pub fn order(&mut self, table: Geometry, ways: &Ways, maps: &mut Maps) -> Result<(), KernelError> {
        let Some(size) = self.size_for(Some(table), ways).filter(|_| self.ordered.is_none()) else {
            return Ok(());
        };
        let (generation, label_bits) = (maps.number(), self.label_bits());
        let of_labels = words_of_labels(size, label_bits);
        let map = self.maps.order_with_labels(generation, size, of_labels, maps)?;
        self.ordered = Some(OrderedLevels { generation, size, label_bits, map, made: None });
        Ok(())
    }

    /// True while the ordered map is being made. Collects it when it is ready.
    pub fn collect_ordered(&mut self, maps: &mut Maps) -> Result<bool, KernelError> {
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

    /// True if a map was ordered and is not collected yet.
    pub fn is_awaited(&self) -> bool {
        self.ordered.as_ref().is_some_and(|larger| larger.made.is_none())
    }

    /// The settings for the judge once the ordered map is in use; none if it is not made yet.
    pub fn foreseen(&self) -> Option<LevelsMap> {
        let larger = self.ordered.as_ref()?;
        let (_, labels) = larger.made.as_ref()?;
        let label_bits = labels.as_ref().map(|_| larger.label_bits);
        Some(LevelsMap { generation: larger.generation, size: larger.size, label_bits })
    }

    /// Discards the ordered map.
    pub fn forget_ordered(&mut self, maps: &mut Maps) {
        if let Some(larger) = self.ordered.take() {
            self.maps.forget(larger.generation, larger.map.is_labelled(), maps);
        }
    }

    /// Makes the map if there is none. Rebuilds it if these ways have no room, unless it has reached its
    /// limit for a table of this geometry. Also rebuilds it if a larger map was made in the background, or if
    /// removed prefixes take much of it.
    pub fn make_room(
        &mut self,
        table: Option<Geometry>,
        ways: &Ways,
        maps: &mut Maps,
        truth: &impl WantedTargets,
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

    /// The number of words in the map, if there is one.
    fn size(&self) -> Option<u32> {
        self.maps.newest().map(|map| map.levels.size())
    }

    /// Makes the smallest map if there is none.
    pub fn make_any(&mut self, maps: &mut Maps, wanted: &impl WantedTargets) -> Result<(), KernelError> {
        if self.maps.newest().is_some() { Ok(()) } else { self.rebuild(size::SMALLEST, maps, wanted) }
    }

    /// Rebuilds the map with more label pages if additions might find none.
    pub fn make_pages(&mut self, maps: &mut Maps, wanted: &impl WantedTargets) -> Result<(), KernelError> {
        let Some(map) = self.maps.newest() else { return Ok(()) };
        match map.labels.as_ref().and_then(|labels| labels.too_small_for(1)) {
            Some(larger) => self.make_anew(map.levels.size(), larger, maps, wanted),
            None => Ok(()),
        }
    }

    /// Makes a copy of the map, unless there is none or it is fresh already.
    pub fn refresh(&mut self, maps: &mut Maps, wanted: &impl WantedTargets) -> Result<(), KernelError> {
        match self.size() {
            Some(size) if self.maps.fresh().is_none() => self.rebuild(size, maps, wanted),
            Some(_) | None => Ok(()),
        }
    }

    /// Prepares the levels for a prefix. True if the levels hold it, so that it does not belong into the
    /// table.
    pub fn make_way(&mut self, prefix: Prefix6) -> bool {
        self.maps.newest_mut().is_some_and(|map| {
            map.levels.make_way(prefix);
            map.levels.tells(prefix)
        })
    }

    /// Shows a prefix that `make_way` has prepared. A prefix that the levels do not hold is in the table
    /// already.
    pub fn show(&mut self, prefix: Prefix6, wanted: &impl WantedTargets) {
        self.maps.newest_mut().into_iter().for_each(|map| map.show(prefix, wanted));
    }

    /// Updates the label of a prefix that the levels hold.
    pub fn relabel(&mut self, prefix: Prefix6, wanted: &impl WantedTargets) {
        self.maps.fresh_mut().into_iter().for_each(|map| map.relabel(prefix, wanted));
        self.maps.current_mut().into_iter().for_each(|map| map.relabel(prefix, wanted));
    }

    /// Hides a prefix, as far as the prefixes that remain wanted allow.
    pub fn hide(&mut self, prefix: Prefix6, wanted: &impl WantedTargets) {
        self.hide_fresh(prefix, wanted);
        self.maps.current_mut().into_iter().for_each(|map| map.hide(prefix, wanted));
    }

    /// Hides a prefix in the fresh map only.
    pub fn hide_fresh(&mut self, prefix: Prefix6, wanted: &impl WantedTargets) {
        self.maps.fresh_mut().into_iter().for_each(|map| map.hide(prefix, wanted));
    }

    /// True if the levels hold this prefix, so that it is not in the table.
    pub fn tell(&self, prefix: Prefix6) -> bool {
        self.maps.newest().is_some_and(|map| map.levels.tells(prefix))
    }

    /// Plans to have no map.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.maps.drop_next(maps);
    }

    pub fn discard(&mut self, maps: &mut Maps) {
        self.maps.discard(maps);
    }

    pub fn publish(&mut self) {
        self.maps.publish();
    }

    fn rebuild(
        &mut self,
        size: u32,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        self.make_anew(size, self.label_bits(), maps, wanted)
    }

    /// The label page bits for a copy of the newest map.
    fn label_bits(&self) -> u32 {
        let labels = self.maps.newest().and_then(|map| map.labels.as_ref());
        labels.map_or(*PAGE_SIZES.start(), LabelPages::size_bits)
    }

    /// Replaces the newest map by a copy with this many label pages, if labels are kept.
    fn make_anew(
        &mut self,
        size: u32,
        label_bits: u32,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        let (generation, (window, labels)) = self.empty(size, label_bits, maps)?;
        let labels = labels.map(|labels| LabelPages::new(labels.0, directory(size), label_bits));
        let mut copy = BuiltLevels { generation, levels: Levels::new(window, size), labels };
        self.maps.newest().into_iter().for_each(|map| map.levels.copy_to(&mut copy.levels));
        copy.label_all(wanted);
        self.maps.put(copy, maps);
        Ok(())
    }

    /// Returns a map of zeroes, and one for labels if any are kept. Uses the ordered maps if their sizes fit.
    fn empty(
        &mut self,
        size: u32,
        label_bits: u32,
        maps: &mut Maps,
    ) -> Result<(u64, MapAndLabels), KernelError> {
        let is_it = |larger: &mut OrderedLevels| {
            larger.made.is_some() && (larger.size, larger.label_bits) == (size, label_bits)
        };
        if let Some(OrderedLevels { generation, made: Some(made), .. }) = self.ordered.take_if(is_it) {
            return Ok((generation, made));
        }
        let generation = maps.number();
        let window = self.maps.make(generation, size, maps)?;
        let labels = self.maps.make_labels(generation, words_of_labels(size, label_bits), maps)?;
        Ok((generation, (window, labels)))
    }
}

impl BuiltLevels {
    /// Shows a prefix. Its label is written first, so that no packet sees it without one.
    fn show(&mut self, prefix: Prefix6, wanted: &impl WantedTargets) {
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

    /// Hides a prefix. Addresses that another prefix still covers get the label of that one.
    fn hide(&mut self, prefix: Prefix6, wanted: &impl WantedTargets) {
        self.levels.hide(prefix, &RemainingPrefixes(wanted));
        self.relabel(prefix, wanted);
    }

    fn relabel(&mut self, prefix: Prefix6, wanted: &impl WantedTargets) {
        let (Some(labels), words) = (&mut self.labels, self.levels.words()) else { return };
        if let Some(places) = places(words, prefix) {
            let told = places.filter(|(place, _)| is_told(words, *place));
            labels.write6(words, told, |spot| wanted.label_of_six(spot));
        }
    }

    fn label_all(&mut self, wanted: &impl WantedTargets) {
        if let Some(labels) = &mut self.labels {
            let words = self.levels.words();
            labels.write6(words, all(words), |spot| wanted.label_of_six(spot));
        }
    }
}

impl InMap for BuiltLevels {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn is_labelled(&self) -> bool {
        self.labels.is_some()
    }
}

/// The prefixes that remain wanted.
struct RemainingPrefixes<'a, W>(&'a W);

impl<W: WantedTargets> Others for RemainingPrefixes<'_, W> {
    fn cover(&self, prefix: Prefix6, shortest: u8) -> bool {
        self.0.covers_six(prefix, shortest)
    }

    fn are_within(&self, prefix: Prefix6) -> bool {
        self.0.has_six_within(prefix)
    }
}

/// The wanted prefixes that the levels do not hold, and that belong into the table.
pub struct PrefixesForTable<'a, W> {
    pub levels: &'a LevelMaps,
    pub wanted: &'a W,
}

impl<W: WantedTargets> LabelSource for PrefixesForTable<'_, W> {
    fn label_of_six(&self, prefix: Prefix6) -> Label {
        self.wanted.label_of_six(prefix)
    }

    fn labels_of_nets64(&self, nets: &[u64]) -> Vec<Label> {
        self.wanted.labels_of_nets64(nets)
    }
}

impl<W: WantedTargets> SixTargets for PrefixesForTable<'_, W> {
    fn six_after(&self, after: Option<Prefix6>) -> impl Iterator<Item = Prefix6> {
        self.wanted.six_after(after).filter(|prefix| !self.levels.tell(*prefix))
    }
}
