//! Having maps made, and letting go of those that never came into use.

use filter_common::labels::Counters;
use filter_common::sets::SetName;

use super::KernelError;
use super::broker::Broker;
use super::broker::request::{MapName, MapUse, Request};
use super::window::Window;

/// A map that has been asked for, and may still be in the making.
#[derive(Debug)]
pub struct Ordered {
    map: MapName,
    generation: u64,
    words: u32,
    /// A small one is there at once.
    made: Option<Window>,
}

/// The broker, and what it is to forget.
pub struct Maps {
    broker: Broker,
    generation: u64,
    /// Do those that block get labels?
    counters: Counters,
    /// Maps that never came into use, and whose pins are still there because the broker was not to be had.
    unwanted: Vec<MapUse>,
}

impl Maps {
    /// Maps that `broker` makes, numbered behind those that an earlier daemon left.
    pub fn new(broker: Broker) -> Self {
        Self {
            generation: broker.latest_generation(),
            broker,
            counters: Counters::Total,
            unwanted: Vec::new(),
        }
    }

    /// The broker.
    pub fn broker(&mut self) -> &mut Broker {
        &mut self.broker
    }

    /// The broker alone, when no more maps are wanted.
    pub fn into_broker(self) -> Broker {
        self.broker
    }

    /// Are labels to be made for what this set holds? Nobody counts what is allowed.
    pub fn want_labels(&self, set: SetName) -> bool {
        self.counters == Counters::Lists && set != SetName::Allow
    }

    /// From now on labels are made, or no longer.
    pub fn count(&mut self, counters: Counters) {
        self.counters = counters;
    }

    /// A number that no map has had.
    pub fn number(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    /// Has a map of zeroed words made.
    pub fn make(&mut self, map: MapName, generation: u64, words: u32) -> Result<Window, KernelError> {
        self.forget_unwanted();
        self.broker.make(map, generation, words)
    }

    /// Are maps of so many words made in no time?
    pub fn are_quick(&self, words: u32) -> bool {
        self.broker.is_quick(words)
    }

    /// Has a map of zeroed words made, while others go on.
    pub fn order(&mut self, map: MapName, generation: u64, words: u32) -> Result<Ordered, KernelError> {
        self.forget_unwanted();
        let made = if self.are_quick(words) {
            Some(self.broker.make(map, generation, words)?)
        } else {
            self.broker.order(Request::Begin { map, generation, words })?;
            None
        };
        Ok(Ordered { map, generation, words, made })
    }

    /// It, once it is made. To be asked again until then; who `waits` gets it now.
    pub fn collect(&mut self, ordered: &mut Ordered, waits: bool) -> Result<Option<Window>, KernelError> {
        if let Some(made) = ordered.made.take() {
            return Ok(Some(made));
        }
        self.broker.collect(ordered.map, ordered.generation, ordered.words, waits)
    }

    /// Lets go of a map that never came into use.
    pub fn discard(&mut self, map: MapName, generation: u64) {
        self.unwanted.push(MapUse { map, generation });
        self.forget_unwanted();
    }

    /// Tells the broker which pins may go. Whatever it cannot do now is told again.
    pub fn forget_unwanted(&mut self) {
        let Self { broker, unwanted, .. } = self;
        unwanted.retain(|MapUse { map, generation }| {
            broker.order(Request::Discard { map: *map, generation: *generation }).is_err()
        });
    }
}
