//! The counters of lists: of each processor a row of its own, in which the judge counts and which the daemon reads. They begin
//! anew with each daemon.

use filter_common::labels::{COUNTERS, Counted, KINDS, Label};
use filter_common::sets::SetName;
use filter_common::{Words, WordsMut};

use super::KernelError;
use super::broker::processors;
use super::broker::request::{MapName, MapPart};
use super::maps::Maps;
use super::staged::{InMap, Staged};
use super::window::Window;

/// How many packets were counted for one list, in the order of [`Counted::ALL`].
pub type Count = [u64; Counted::ALL.len()];

/// The counters in use, and those that are about to take their place.
pub struct ListCounters {
    counters: Staged<Made>,
    /// Rows that they have: a power of two, and at least one for each processor there can be.
    processors: u32,
}

struct Made {
    generation: u64,
    window: Window,
}

/// What a judge must know of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListsMap {
    /// Which map.
    pub generation: u64,
    /// For how many processors.
    pub processors: u32,
}

impl ListCounters {
    /// None yet.
    pub fn new() -> Self {
        let counters = Staged::new(MapName { set: SetName::Block, part: MapPart::Lists });
        Self { counters, processors: processors::rows() }
    }

    /// What the next judge must know of them; none if it counts for no list.
    pub fn spec(&self) -> Option<ListsMap> {
        let spec = |made: &Made| ListsMap { generation: made.generation, processors: self.processors };
        self.counters.newest().map(spec)
    }

    /// Has them made, if there are none.
    pub fn make_any(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        if self.counters.newest().is_none() {
            let generation = maps.number();
            let window = self.counters.make(generation, self.processors * COUNTERS, maps)?;
            self.counters.put(Made { generation, window }, maps);
        }
        Ok(())
    }

    /// How many packets were counted for the list of each label.
    pub fn read(&self) -> Vec<Count> {
        let sum = |counter: u32| self.of(counter).map(|(window, at)| window.load(at)).sum();
        let of_label = |label: u32| std::array::from_fn(|kind| sum(label * KINDS + kind as u32));
        (0..COUNTERS / KINDS).map(of_label).collect()
    }

    /// Lets those of one label begin anew.
    pub fn zero(&self, label: Label) {
        let first = u32::from(label) * KINDS;
        let counters = (first..first + KINDS).flat_map(|counter| self.of(counter));
        counters.for_each(|(window, at)| window.store(at, 0));
    }

    /// Forgets the plan.
    pub fn discard(&mut self, maps: &mut Maps) {
        self.counters.discard(maps);
    }

    /// The plan has come true.
    pub fn publish(&mut self) {
        self.counters.publish();
    }

    /// Kernel memory they take, in bytes; none if there are none.
    pub fn bytes(&self) -> Option<u64> {
        self.counters.current().map(|made| made.window.bytes())
    }

    /// Where one of them is, for each processor.
    fn of(&self, counter: u32) -> impl Iterator<Item = (&Window, u32)> {
        let made = self.counters.current().into_iter();
        made.flat_map(move |made| {
            (0..self.processors).map(move |processor| (&made.window, processor * COUNTERS + counter))
        })
    }
}

impl InMap for Made {
    fn generation(&self) -> u64 {
        self.generation
    }
}
