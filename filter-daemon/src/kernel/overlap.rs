//! The word that tells packets from blocked sources whether to ask what is allowed, too.
//!
//! It is switched on before the first blocked target that overlaps something allowed enters, by one store, and costs such
//! packets one load where nothing overlaps. On is always right; off is right only while nothing overlaps, and nothing did
//! for any packet in flight.

use filter_common::sets::SetName;
use filter_common::{Words, WordsMut};

use super::KernelError;
use super::broker::request::{MapName, MapPart};
use super::maps::Maps;
use super::staged::{InMap, Staged};
use super::window::Window;

/// The word in use, and the one that is about to take its place.
pub struct Overlap {
    words: Staged<Made>,
}

struct Made {
    generation: u64,
    window: Window,
    /// What was last written there.
    is_on: bool,
}

impl Overlap {
    /// Nothing is allowed yet.
    pub const fn new() -> Self {
        Self { words: Staged::new(MapName { set: SetName::Allow, part: MapPart::Overlap }) }
    }

    /// The generation of the map that the next judge looks into; none if nothing is allowed.
    pub fn generation(&self) -> Option<u64> {
        self.words.newest().map(|made| made.generation)
    }

    /// The word that packets read.
    pub fn words(&self) -> Option<&Window> {
        self.words.current().map(|made| &made.window)
    }

    /// Has the word made, if there is none. It is off.
    pub fn make_any(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        if self.words.newest().is_none() {
            let generation = maps.number();
            let window = self.words.make(generation, 1, maps)?;
            self.words.put(Made { generation, window, is_on: false }, maps);
        }
        Ok(())
    }

    /// Is it on?
    pub fn is_on(&self) -> bool {
        self.words.newest().is_some_and(|made| made.window.load(0) != 0)
    }

    /// Packets from blocked sources ask what is allowed, or no longer do.
    pub fn switch(&mut self, is_on: bool) {
        self.words.newest_mut().into_iter().for_each(|made| {
            made.window.store(0, is_on.into());
            made.is_on = is_on;
        });
    }

    /// Does the word that packets read say what was last written there?
    pub fn is_as_written(&self) -> bool {
        self.words.current().is_none_or(|made| (made.window.load(0) != 0) == made.is_on)
    }

    /// Plans that there is no such word.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.words.drop_next(maps);
    }

    /// Forgets the plan.
    pub fn discard(&mut self, maps: &mut Maps) {
        self.words.discard(maps);
    }

    /// The plan has come true.
    pub fn publish(&mut self) {
        self.words.publish();
    }
}

impl InMap for Made {
    fn generation(&self) -> u64 {
        self.generation
    }
}
