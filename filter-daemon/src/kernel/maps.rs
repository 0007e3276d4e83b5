//! Asks the broker to make maps, and discards maps that were never used.

use filter_common::labels::Counters;
use filter_common::sets::SetName;

use super::KernelError;
use super::broker::Broker;
use super::broker::request::{MapName, MapUse, Request};
use super::window::Window;

/// A map that was requested and may still be in the making.
#[derive(Debug)]
pub struct OrderedMap {
    map: MapName,
    generation: u64,
    words: u32,
    /// Filled at once if the map is small.
    made: Option<Window>,
}

/// The broker, and the maps that it should discard.
pub struct Maps {
    broker: Broker,
    generation: u64,
    /// Whether maps of sets that block get labels.
    counters: Counters,
    /// Maps that were never used, and whose pins remain because the broker could not be reached.
    unwanted: Vec<MapUse>,
}

impl Maps {
    /// Maps made by `broker`, with numbers above those that an earlier daemon left.
    pub fn new(broker: Broker) -> Self {
        Self {
            generation: broker.latest_generation(),
            broker,
            counters: Counters::Total,
            unwanted: Vec::new(),
        }
    }

    pub fn broker(&mut self) -> &mut Broker {
        &mut self.broker
    }

    /// Gives the broker away when no more maps are needed.
    pub fn into_broker(self) -> Broker {
        self.broker
    }

    /// Whether this set needs label maps. Allowed packets are not counted by list.
    pub fn want_labels(&self, set: SetName) -> bool {
        self.counters == Counters::Lists && set != SetName::Allow
    }

    /// Sets whether labels are made.
    pub fn count(&mut self, counters: Counters) {
        self.counters = counters;
    }

    /// Returns a generation number that no map has used.
    pub fn number(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    /// Makes a map of zeroed words, and waits for it.
    pub fn make(&mut self, map: MapName, generation: u64, words: u32) -> Result<Window, KernelError> {
        self.forget_unwanted();
        self.broker.make(map, generation, words)
    }

    /// Whether a map of this many words is made without a noticeable wait.
    pub fn are_quick(&self, words: u32) -> bool {
        self.broker.is_quick(words)
    }

    /// Starts making a map of zeroed words. Large maps are made while other requests are served.
    pub fn order(&mut self, map: MapName, generation: u64, words: u32) -> Result<OrderedMap, KernelError> {
        self.forget_unwanted();
        let made = if self.are_quick(words) {
            Some(self.broker.make(map, generation, words)?)
        } else {
            self.broker.order(Request::Begin { map, generation, words })?;
            None
        };
        Ok(OrderedMap { map, generation, words, made })
    }

    /// Returns the map once it is made; call it again until then. With `waits` it blocks until the map is
    /// made.
    pub fn collect(&mut self, ordered: &mut OrderedMap, waits: bool) -> Result<Option<Window>, KernelError> {
        if let Some(made) = ordered.made.take() {
            return Ok(Some(made));
        }
        self.broker.collect(ordered.map, ordered.generation, ordered.words, waits)
    }

    /// Discards a map that was never used.
    pub fn discard(&mut self, map: MapName, generation: u64) {
        self.unwanted.push(MapUse { map, generation });
        self.forget_unwanted();
    }

    /// Asks the broker to remove the pins. Requests that fail are repeated the next time.
    pub fn forget_unwanted(&mut self) {
        let Self { broker, unwanted, .. } = self;
        unwanted.retain(|MapUse { map, generation }| {
            broker.order(Request::Discard { map: *map, generation: *generation }).is_err()
        });
    }
}
