//! The map of IPv4 prefixes up to /24: one bit a /24, and their labels if any are kept. Packets see each
//! change at once.

mod labels;

use filter_common::labels::pages::{self, DIRECTORY4, SIZES};
use filter_common::sets::SetName;
use filter_common::target::{Prefix, Prefix4};
use filter_common::{Words, WordsMut, networks};

use super::KernelError;
use super::broker::request::{MapName, MapPart};
use super::maps::Maps;
use super::needs::WantedTargets;
use super::pages::LabelPages;
use super::staged::{InMap, Staged};
use super::window::Window;
use labels::{pages_for, with};

/// The map in use, and the staged one that replaces it.
pub struct Networks {
    bits: Staged<Bits>,
}

struct Bits {
    generation: u64,
    window: Window,
    labels: Option<LabelPages>,
}

/// The settings that a judge needs to read the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworksMap {
    pub generation: u64,
    /// Bits in the number of label pages, if there are labels.
    pub label_bits: Option<u32>,
}

impl Networks {
    pub const fn new(set: SetName) -> Self {
        Self { bits: Staged::new(MapName { set, part: MapPart::Networks }) }
    }

    /// The settings for the next judge; none if there is no map.
    pub fn spec(&self) -> Option<NetworksMap> {
        let label_bits = |bits: &Bits| bits.labels.as_ref().map(LabelPages::size_bits);
        self.bits
            .newest()
            .map(|bits| NetworksMap { generation: bits.generation, label_bits: label_bits(bits) })
    }

    /// The words of the current map, which packets read.
    pub fn words(&self) -> Option<&Window> {
        self.bits.current().map(|bits| &bits.window)
    }

    /// The labels that packets read.
    pub fn labels(&self) -> Option<&Window> {
        Some(self.bits.current()?.labels.as_ref()?.window())
    }

    /// True if the map has labels, or if there is no map.
    pub fn is_labelled(&self) -> bool {
        self.bits.newest().is_none_or(|bits| bits.labels.is_some())
    }

    /// Makes the map if there is none.
    pub fn make_room(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        if self.bits.newest().is_some() {
            return Ok(());
        }
        let bits = self.build(*SIZES.start(), maps)?;
        self.bits.put(bits, maps);
        Ok(())
    }

    /// Makes a copy of the map, unless there is none or it is fresh already.
    pub fn refresh(&mut self, maps: &mut Maps, wanted: &impl WantedTargets) -> Result<(), KernelError> {
        if self.bits.fresh().is_some() { Ok(()) } else { self.make_anew(None, maps, wanted) }
    }

    /// Makes a copy with labels, unless the map has them.
    pub fn label_all(&mut self, maps: &mut Maps, wanted: &impl WantedTargets) -> Result<(), KernelError> {
        if self.is_labelled() { Ok(()) } else { self.make_anew(None, maps, wanted) }
    }

    /// Releases the labels of the current map: no judge reads them.
    pub fn forget_labels(&mut self) {
        self.bits.current_mut().into_iter().for_each(|bits| bits.labels = None);
    }

    /// Adds a prefix. The map must exist.
    pub fn enter(
        &mut self,
        prefix: Prefix4,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        self.make_pages(prefix, maps, wanted)?;
        self.bits.newest_mut().into_iter().for_each(|bits| {
            bits.ask(prefix, wanted);
            bits.set(prefix, |_| u64::MAX);
        });
        Ok(())
    }

    /// Updates the label of a prefix that is in the map.
    pub fn relabel(&mut self, prefix: Prefix4, wanted: &impl WantedTargets) {
        self.bits.fresh_mut().into_iter().for_each(|bits| bits.ask(prefix, wanted));
        self.bits.current_mut().into_iter().for_each(|bits| bits.ask(prefix, wanted));
    }

    /// Removes a prefix, except where another prefix covers it.
    pub fn leave(&mut self, prefix: Prefix4, wanted: &impl WantedTargets) {
        self.leave_fresh(prefix, wanted);
        self.bits.current_mut().into_iter().for_each(|bits| bits.leave(prefix, wanted));
    }

    /// Removes a prefix from the fresh map only.
    pub fn leave_fresh(&mut self, prefix: Prefix4, wanted: &impl WantedTargets) {
        self.bits.fresh_mut().into_iter().for_each(|bits| bits.leave(prefix, wanted));
    }

    /// Plans to have no map.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.bits.drop_next(maps);
    }

    pub fn discard(&mut self, maps: &mut Maps) {
        self.bits.discard(maps);
    }

    pub fn publish(&mut self) {
        self.bits.publish();
    }

    /// Replaces the map by a larger one if the labels of a prefix may need more pages than are free.
    pub fn make_pages(
        &mut self,
        prefix: Prefix4,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        let Some(labels) = self.bits.newest().and_then(|bits| bits.labels.as_ref()) else { return Ok(()) };
        match labels.too_small_for(pages_for(prefix, wanted)) {
            None => Ok(()),
            larger => self.make_anew(larger, maps, wanted),
        }
    }

    /// Replaces the newest map by a copy, with this many page bits if given.
    fn make_anew(
        &mut self,
        label_bits: Option<u32>,
        maps: &mut Maps,
        wanted: &impl WantedTargets,
    ) -> Result<(), KernelError> {
        let Some(newest) = self.bits.newest() else { return Ok(()) };
        let known = newest.labels.as_ref();
        let label_bits = label_bits.or(known.map(LabelPages::size_bits)).unwrap_or(*SIZES.start());
        let mut copy = self.build(label_bits, maps)?;
        let words = (0..networks::WORDS).map(|at| (at, newest.window.load(at)));
        words.filter(|(_, word)| *word != 0).for_each(|(at, word)| copy.window.store(at, word));
        match (known, &mut copy.labels) {
            (Some(known), Some(labels)) => {
                known.copy_slash16s_to(labels, |word| networks::slash24s(&newest.window, word));
            }
            _ => copy.ask_all(wanted),
        }
        self.bits.put(copy, maps);
        Ok(())
    }

    fn build(&self, label_bits: u32, maps: &mut Maps) -> Result<Bits, KernelError> {
        let generation = maps.number();
        let window = self.bits.make(generation, networks::WORDS, maps)?;
        let labels = self.bits.make_labels(generation, pages::words(DIRECTORY4, label_bits), maps)?;
        let labels = labels.map(|labels| LabelPages::new(labels.0, DIRECTORY4, label_bits));
        Ok(Bits { generation, window, labels })
    }
}

impl InMap for Bits {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn is_labelled(&self) -> bool {
        self.labels.is_some()
    }
}

impl Bits {
    fn set(&self, prefix: Prefix4, wanted: impl Fn(u32) -> u64) {
        networks::set(&self.window, prefix.first() >> 8, slash24s(prefix), wanted);
    }

    /// Updates the labels of everything listed within this prefix, and of the prefix itself.
    fn ask(&mut self, prefix: Prefix4, wanted: &impl WantedTargets) {
        let Self { window, labels, .. } = self;
        let listed = with(prefix, |word| networks::slash24s(window, word));
        labels.iter_mut().for_each(|labels| labels.ask4(prefix, &listed, wanted));
    }

    /// Updates the labels of everything listed.
    fn ask_all(&mut self, wanted: &impl WantedTargets) {
        let Self { window, labels, .. } = self;
        let listed = |word| networks::slash24s(window, word);
        labels.iter_mut().for_each(|labels| labels.ask4(Prefix::covering(0, 0), listed, wanted));
    }

    fn leave(&mut self, prefix: Prefix4, wanted: &impl WantedTargets) {
        if wanted.is_within_wider(prefix) {
            self.ask(prefix, wanted);
            return;
        }
        let first = prefix.first() >> 14;
        let mut stays = vec![0; ((prefix.last() >> 14) - first + 1) as usize];
        for within in wanted.networks_within(prefix) {
            for word in within.first() >> 14..=within.last() >> 14 {
                stays[(word - first) as usize] |=
                    networks::bits_of(within.first() >> 8, within.last() >> 8, word);
            }
        }
        self.set(prefix, |word| stays[(word - first) as usize]);
        let Self { window, labels, .. } = self;
        labels.iter_mut().for_each(|labels| labels.tidy4(prefix, |word| networks::slash24s(window, word)));
    }
}

/// True if the prefix is kept as bits, one for each /24.
pub fn is_network(prefix: Prefix4) -> bool {
    prefix.length() <= 24
}

fn slash24s(prefix: Prefix4) -> u32 {
    1 << (24 - prefix.length())
}
