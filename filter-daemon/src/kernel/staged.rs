//! Something that packets see, and what is to take its place: nothing of a plan is visible until it is published, and the
//! map of a plan that is given up goes.

use filter_common::labels::Bytes;

use super::KernelError;
use super::broker::request::MapName;
use super::maps::{Maps, Ordered};
use super::window::Window;

/// What is kept in a map of its own.
pub trait InMap {
    /// Which of the maps of its name.
    fn generation(&self) -> u64;

    /// Are there labels, too, in another map of that number?
    fn is_labelled(&self) -> bool {
        false
    }
}

/// A map, and that of its labels.
pub type Both = (Window, Option<Bytes<Window>>);

/// A map that is being made, and that of its labels, if any are to be kept.
pub struct OrderedBoth {
    map: Ordered,
    made: Option<Window>,
    labels: Option<Ordered>,
    made_labels: Option<Window>,
}

impl OrderedBoth {
    /// Is there one for labels?
    pub const fn is_labelled(&self) -> bool {
        self.labels.is_some()
    }

    /// Both, once they are made. To be asked again until then; who `waits` gets them now.
    pub fn collect(&mut self, maps: &mut Maps, waits: bool) -> Result<Option<Both>, KernelError> {
        if self.made.is_none() {
            self.made = maps.collect(&mut self.map, waits)?;
        }
        if let Some(labels) = self.labels.as_mut().filter(|_| self.made_labels.is_none()) {
            self.made_labels = maps.collect(labels, waits)?;
        }
        if self.labels.is_some() && self.made_labels.is_none() {
            return Ok(None);
        }
        Ok(self.made.take().map(|made| (made, self.made_labels.take().map(Bytes))))
    }
}

/// What is in use, and what comes next.
#[derive(Debug)]
pub struct Staged<T> {
    map: MapName,
    current: Option<T>,
    next: Next<T>,
}

#[derive(Debug)]
enum Next<T> {
    /// What is in use stays.
    Same,
    /// This takes its place.
    Fresh(T),
    /// Nothing takes its place.
    Gone,
}

impl<T: InMap> Staged<T> {
    /// Nothing yet; the maps will have this name.
    pub const fn new(map: MapName) -> Self {
        Self { map, current: None, next: Next::Same }
    }

    /// Has a map of so many zeroed words made.
    pub fn make(&self, generation: u64, words: u32, maps: &mut Maps) -> Result<Window, KernelError> {
        maps.make(self.map, generation, words)
    }

    /// Has the map of its labels made, in so many words, if any are to be kept. If that fails, the other one goes, too.
    pub fn make_labels(
        &self,
        generation: u64,
        words: u32,
        maps: &mut Maps,
    ) -> Result<Option<Bytes<Window>>, KernelError> {
        let Some(labels) = self.map.labels().filter(|_| maps.want_labels(self.map.set)) else {
            return Ok(None);
        };
        let made = maps.make(labels, generation, words);
        made.map(|window| Some(Bytes(window))).inspect_err(|_| maps.discard(self.map, generation))
    }

    /// Has one made, while others go on.
    pub fn order(&self, generation: u64, words: u32, maps: &mut Maps) -> Result<Ordered, KernelError> {
        maps.order(self.map, generation, words)
    }

    /// The same, and one of so many words for its labels, if any are to be kept.
    pub fn order_with_labels(
        &self,
        generation: u64,
        words: u32,
        of_labels: u32,
        maps: &mut Maps,
    ) -> Result<OrderedBoth, KernelError> {
        let map = self.order(generation, words, maps)?;
        let labels = self.map.labels().filter(|_| maps.want_labels(self.map.set));
        let labels = labels.map(|labels| maps.order(labels, generation, of_labels)).transpose();
        let labels = labels.inspect_err(|_| maps.discard(self.map, generation))?;
        Ok(OrderedBoth { map, made: None, labels, made_labels: None })
    }

    /// Lets go of a map that never came into use, and of that of its labels.
    pub fn forget(&self, generation: u64, is_labelled: bool, maps: &mut Maps) {
        maps.discard(self.map, generation);
        if let Some(labels) = self.map.labels().filter(|_| is_labelled) {
            maps.discard(labels, generation);
        }
    }

    /// What packets see.
    pub const fn current(&self) -> Option<&T> {
        self.current.as_ref()
    }

    /// The same, to be changed while they look on.
    pub const fn current_mut(&mut self) -> Option<&mut T> {
        self.current.as_mut()
    }

    /// What no packet sees yet.
    pub const fn fresh(&self) -> Option<&T> {
        match &self.next {
            Next::Fresh(fresh) => Some(fresh),
            Next::Same | Next::Gone => None,
        }
    }

    /// The same, to be changed.
    pub const fn fresh_mut(&mut self) -> Option<&mut T> {
        match &mut self.next {
            Next::Fresh(fresh) => Some(fresh),
            Next::Same | Next::Gone => None,
        }
    }

    /// What packets will see next.
    pub const fn newest(&self) -> Option<&T> {
        match &self.next {
            Next::Same => self.current.as_ref(),
            Next::Fresh(fresh) => Some(fresh),
            Next::Gone => None,
        }
    }

    /// The same, to be changed.
    pub const fn newest_mut(&mut self) -> Option<&mut T> {
        match &mut self.next {
            Next::Same => self.current.as_mut(),
            Next::Fresh(fresh) => Some(fresh),
            Next::Gone => None,
        }
    }

    /// Plans that `fresh` takes the place of what is in use.
    pub fn put(&mut self, fresh: T, maps: &mut Maps) {
        self.plan(Next::Fresh(fresh), maps);
    }

    /// Plans that nothing takes the place of what is in use.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.plan(Next::Gone, maps);
    }

    /// Forgets the plan.
    pub fn discard(&mut self, maps: &mut Maps) {
        self.plan(Next::Same, maps);
    }

    /// The plan has come true. True if something fresh is in use now.
    pub fn publish(&mut self) -> bool {
        match std::mem::replace(&mut self.next, Next::Same) {
            Next::Same => false,
            Next::Fresh(fresh) => {
                self.current = Some(fresh);
                true
            }
            Next::Gone => {
                self.current = None;
                false
            }
        }
    }

    fn plan(&mut self, next: Next<T>, maps: &mut Maps) {
        if let Next::Fresh(before) = std::mem::replace(&mut self.next, next) {
            self.forget(before.generation(), before.is_labelled(), maps);
        }
    }
}
