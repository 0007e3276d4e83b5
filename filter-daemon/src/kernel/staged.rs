//! Holds something that packets see, and its planned replacement. A plan is invisible until it is published.
//! The maps of a discarded plan are discarded.

use filter_common::labels::LabelBytes;

use super::KernelError;
use super::broker::request::MapName;
use super::maps::{Maps, OrderedMap};
use super::window::Window;

/// Something that is kept in a map of its own.
pub trait InMap {
    /// The number that distinguishes it from other maps of the same name.
    fn generation(&self) -> u64;

    /// True if a second map of the same number holds labels.
    fn is_labelled(&self) -> bool {
        false
    }
}

/// A map, and the map of its labels.
pub type MapAndLabels = (Window, Option<LabelBytes<Window>>);

/// A map that is being made, and the map of its labels if any are kept.
pub struct OrderedMapAndLabels {
    map: OrderedMap,
    made: Option<Window>,
    labels: Option<OrderedMap>,
    made_labels: Option<Window>,
}

impl OrderedMapAndLabels {
    pub const fn is_labelled(&self) -> bool {
        self.labels.is_some()
    }

    /// Returns both maps once they are made; call it again until then. With `waits` it blocks until they are
    /// made.
    pub fn collect(&mut self, maps: &mut Maps, waits: bool) -> Result<Option<MapAndLabels>, KernelError> {
        if self.made.is_none() {
            self.made = maps.collect(&mut self.map, waits)?;
        }
        if let Some(labels) = self.labels.as_mut().filter(|_| self.made_labels.is_none()) {
            self.made_labels = maps.collect(labels, waits)?;
        }
        if self.labels.is_some() && self.made_labels.is_none() {
            return Ok(None);
        }
        Ok(self.made.take().map(|made| (made, self.made_labels.take().map(LabelBytes))))
    }
}

/// The value in use, and the plan for it.
#[derive(Debug)]
pub struct Staged<T> {
    map: MapName,
    current: Option<T>,
    next: StagedPlan<T>,
}

#[derive(Debug)]
enum StagedPlan<T> {
    /// The current value stays in use.
    Same,
    /// This value replaces the current one.
    Fresh(T),
    /// The current value goes without a replacement.
    Gone,
}

impl<T: InMap> Staged<T> {
    /// Nothing yet; all maps get this name.
    pub const fn new(map: MapName) -> Self {
        Self { map, current: None, next: StagedPlan::Same }
    }

    /// Makes a map of this many zeroed words.
    pub fn make(&self, generation: u64, words: u32, maps: &mut Maps) -> Result<Window, KernelError> {
        maps.make(self.map, generation, words)
    }

    /// Makes the map of labels, if labels are kept. If that fails, the map that they belong to is discarded.
    pub fn make_labels(
        &self,
        generation: u64,
        words: u32,
        maps: &mut Maps,
    ) -> Result<Option<LabelBytes<Window>>, KernelError> {
        let Some(labels) = self.map.labels().filter(|_| maps.want_labels(self.map.set)) else {
            return Ok(None);
        };
        let made = maps.make(labels, generation, words);
        made.map(|window| Some(LabelBytes(window))).inspect_err(|_| maps.discard(self.map, generation))
    }

    /// Starts making a map; other requests are served meanwhile.
    pub fn order(&self, generation: u64, words: u32, maps: &mut Maps) -> Result<OrderedMap, KernelError> {
        maps.order(self.map, generation, words)
    }

    /// Starts making a map, and one of `of_labels` words for its labels if any are kept.
    pub fn order_with_labels(
        &self,
        generation: u64,
        words: u32,
        of_labels: u32,
        maps: &mut Maps,
    ) -> Result<OrderedMapAndLabels, KernelError> {
        let map = self.order(generation, words, maps)?;
        let labels = self.map.labels().filter(|_| maps.want_labels(self.map.set));
        let labels = labels.map(|labels| maps.order(labels, generation, of_labels)).transpose();
        let labels = labels.inspect_err(|_| maps.discard(self.map, generation))?;
        Ok(OrderedMapAndLabels { map, made: None, labels, made_labels: None })
    }

    /// Discards a map that was never used, and the map of its labels.
    pub fn forget(&self, generation: u64, is_labelled: bool, maps: &mut Maps) {
        maps.discard(self.map, generation);
        if let Some(labels) = self.map.labels().filter(|_| is_labelled) {
            maps.discard(labels, generation);
        }
    }

    /// The value that packets see.
    pub const fn current(&self) -> Option<&T> {
        self.current.as_ref()
    }

    /// The value that packets see, for changes that take effect at once.
    pub const fn current_mut(&mut self) -> Option<&mut T> {
        self.current.as_mut()
    }

    /// The planned value, which no packet sees yet.
    pub const fn fresh(&self) -> Option<&T> {
        match &self.next {
            StagedPlan::Fresh(fresh) => Some(fresh),
            StagedPlan::Same | StagedPlan::Gone => None,
        }
    }

    pub const fn fresh_mut(&mut self) -> Option<&mut T> {
        match &mut self.next {
            StagedPlan::Fresh(fresh) => Some(fresh),
            StagedPlan::Same | StagedPlan::Gone => None,
        }
    }

    /// The value that packets see after the next publication.
    pub const fn newest(&self) -> Option<&T> {
        match &self.next {
            StagedPlan::Same => self.current.as_ref(),
            StagedPlan::Fresh(fresh) => Some(fresh),
            StagedPlan::Gone => None,
        }
    }

    pub const fn newest_mut(&mut self) -> Option<&mut T> {
        match &mut self.next {
            StagedPlan::Same => self.current.as_mut(),
            StagedPlan::Fresh(fresh) => Some(fresh),
            StagedPlan::Gone => None,
        }
    }

    /// Plans to replace the value by `fresh`.
    pub fn put(&mut self, fresh: T, maps: &mut Maps) {
        self.plan(StagedPlan::Fresh(fresh), maps);
    }

    /// Plans to remove the value without a replacement.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.plan(StagedPlan::Gone, maps);
    }

    /// Discards the plan and its maps.
    pub fn discard(&mut self, maps: &mut Maps) {
        self.plan(StagedPlan::Same, maps);
    }

    /// Makes the planned state current. True if a fresh value is in use now.
    pub fn publish(&mut self) -> bool {
        match std::mem::replace(&mut self.next, StagedPlan::Same) {
            StagedPlan::Same => false,
            StagedPlan::Fresh(fresh) => {
                self.current = Some(fresh);
                true
            }
            StagedPlan::Gone => {
                self.current = None;
                false
            }
        }
    }

    fn plan(&mut self, next: StagedPlan<T>, maps: &mut Maps) {
        if let StagedPlan::Fresh(before) = std::mem::replace(&mut self.next, next) {
            self.forget(before.generation(), before.is_labelled(), maps);
        }
    }
}
