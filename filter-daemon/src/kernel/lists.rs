//! Packet counters for each list. The judge counts in a row for each processor, and the daemon reads the
//! rows. The counters restart at zero with each daemon.

use filter_common::labels::{COUNTERS, Counted, KINDS, Label};
use filter_common::sets::SetName;
use filter_common::{Words, WordsMut};

use super::KernelError;
use super::broker::processors;
use super::broker::request::{MapName, MapPart};
use super::maps::Maps;
use super::staged::{InMap, Staged};
use super::window::Window;

/// Packets counted for one list, in the order of [`Counted::ALL`].
pub type Count = [u64; Counted::ALL.len()];

/// The counters in use, and the staged ones that replace them.
pub struct ListCounters {
    counters: Staged<CountersMap>,
    /// Number of rows: a power of two, and at least one for each possible processor.
    processors: u32,
}

struct CountersMap {
    generation: u64,
    window: Window,
}

/// The settings that a judge needs to find the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListsMap {
    pub generation: u64,
    pub processors: u32,
}

impl ListCounters {
    pub fn new() -> Self {
        let counters = Staged::new(MapName { set: SetName::Block, part: MapPart::Lists });
        Self { counters, processors: processors::rows() }
    }

    /// The settings for the next judge; none if it counts for no list.
    pub fn spec(&self) -> Option<ListsMap> {
        let spec = |made: &CountersMap| ListsMap { generation: made.generation, processors: self.processors };
        self.counters.newest().map(spec)
    }

    /// Creates the counters if they do not exist.
    pub fn make_any(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        if self.counters.newest().is_none() {
            let generation = maps.number();
            let window = self.counters.make(generation, self.processors * COUNTERS, maps)?;
            self.counters.put(CountersMap { generation, window }, maps);
        }
        Ok(())
    }

    /// The sums over all processors, indexed by label.
    pub fn read(&self) -> Vec<Count> {
        let sum = |counter: u32| self.of(counter).map(|(window, at)| window.load(at)).sum();
        let of_label = |label: u32| std::array::from_fn(|kind| sum(label * KINDS + kind as u32));
        (0..COUNTERS / KINDS).map(of_label).collect()
    }

    /// Resets the counters of one label to zero.
    pub fn zero(&self, label: Label) {
        let first = u32::from(label) * KINDS;
        let counters = (first..first + KINDS).flat_map(|counter| self.of(counter));
        counters.for_each(|(window, at)| window.store(at, 0));
    }

    pub fn discard(&mut self, maps: &mut Maps) {
        self.counters.discard(maps);
    }

    pub fn publish(&mut self) {
        self.counters.publish();
    }

    /// Kernel memory in bytes; none if there are no counters.
    pub fn bytes(&self) -> Option<u64> {
        self.counters.current().map(|made| made.window.bytes())
    }

    /// The places of one counter, one for each processor.
    fn of(&self, counter: u32) -> impl Iterator<Item = (&Window, u32)> {
        let made = self.counters.current().into_iter();
        made.flat_map(move |made| {
            (0..self.processors).map(move |processor| (&made.window, processor * COUNTERS + counter))
        })
    }
}

impl InMap for CountersMap {
    fn generation(&self) -> u64 {
        self.generation
    }
}
