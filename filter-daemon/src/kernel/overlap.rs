//! The word that makes the judge look up allowed targets for packets from blocked sources.
//!
//! One store switches it on before the first blocked target that overlaps an allowed one is added. While it
//! is off, such packets cost one load more. On is always correct. Off is correct only while nothing overlaps,
//! and nothing overlapped for any packet in flight.

use filter_common::sets::SetName;
use filter_common::{Words, WordsMut};

use super::KernelError;
use super::broker::request::{MapName, MapPart};
use super::maps::Maps;
use super::staged::{InMap, Staged};
use super::window::Window;

/// The word in use, and the staged one that replaces it.
pub struct Overlap {
    words: Staged<OverlapMap>,
}

struct OverlapMap {
    generation: u64,
    window: Window,
    /// The last value that was written.
    is_on: bool,
}

impl Overlap {
    pub const fn new() -> Self {
        Self { words: Staged::new(MapName { set: SetName::Allow, part: MapPart::Overlap }) }
    }

    /// The generation of the map that the next judge reads; none if nothing is allowed.
    pub fn generation(&self) -> Option<u64> {
        self.words.newest().map(|made| made.generation)
    }

    pub fn words(&self) -> Option<&Window> {
        self.words.current().map(|made| &made.window)
    }

    /// Makes the word if there is none, switched off.
    pub fn make_any(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        if self.words.newest().is_none() {
            let generation = maps.number();
            let window = self.words.make(generation, 1, maps)?;
            self.words.put(OverlapMap { generation, window, is_on: false }, maps);
        }
        Ok(())
    }

    pub fn is_on(&self) -> bool {
        self.words.newest().is_some_and(|made| made.window.load(0) != 0)
    }

    /// Switches the lookup of allowed targets on or off for packets from blocked sources.
    pub fn switch(&mut self, is_on: bool) {
        self.words.newest_mut().into_iter().for_each(|made| {
            made.window.store(0, is_on.into());
            made.is_on = is_on;
        });
    }

    /// True if the word that packets read has the value last written.
    pub fn is_as_written(&self) -> bool {
        self.words.current().is_none_or(|made| (made.window.load(0) != 0) == made.is_on)
    }

    /// Plans to have no such word.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.words.drop_next(maps);
    }

    pub fn discard(&mut self, maps: &mut Maps) {
        self.words.discard(maps);
    }

    pub fn publish(&mut self) {
        self.words.publish();
    }
}

impl InMap for OverlapMap {
    fn generation(&self) -> u64 {
        self.generation
    }
}
