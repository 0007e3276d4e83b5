//! Manages pages of labels and their directory. An entry gets a page where several lists meet, and loses it
//! where they no longer do. The page's number may be reused at once, because no verdict depends on it.

use filter_common::labels::pages::{Entry, PAGE, SIZES, entry, page, set_entry};
use filter_common::labels::{Label, Labels as _, LabelsMut as _, OTHER};

use super::window::Window;

/// Pages kept free for label changes at times when the map cannot be made larger.
const SPARE: usize = 16;

/// The labels of one entry of the directory.
pub type Page = [Label; PAGE as usize];

/// A bit for each /24 or /32 of an entry: set if it is listed.
pub type Listed = [u64; 4];

pub struct LabelPages {
    window: Window,
    directory: u32,
    size_bits: u32,
    free: Vec<u32>,
}

impl LabelPages {
    /// All pages free, in a fresh map whose directory has this many words.
    pub fn new(window: Window, directory: u32, size_bits: u32) -> Self {
        Self { window, directory, size_bits, free: (0..1 << size_bits).rev().collect() }
    }

    /// Bits in the number of pages.
    pub const fn size_bits(&self) -> u32 {
        self.size_bits
    }

    pub const fn window(&self) -> &Window {
        &self.window
    }

    /// The page bits of a map with room for `pages` more. None if this map has room, or if no larger map
    /// exists.
    pub fn too_small_for(&self, pages: usize) -> Option<u32> {
        let used = (1 << self.size_bits) - self.free.len();
        let mut larger = SIZES.filter(|bits| *bits > self.size_bits);
        let enough = larger.clone().find(|bits| (1 << bits) >= used + pages + SPARE).or(larger.next_back());
        enough.filter(|_| self.free.len() < pages + SPARE)
    }

    pub fn labels(&self, number: u32) -> Page {
        match entry(&self.window, number) {
            Entry::Whole(label) => [label; PAGE as usize],
            Entry::Page(taken) => {
                let page = page(&self.window, self.directory, taken);
                std::array::from_fn(|at| page.label(at as u32))
            }
        }
    }

    pub fn has_page(&self, number: u32) -> bool {
        matches!(entry(&self.window, number), Entry::Page(_))
    }

    /// Replaces the labels of this entry. Labels of unlisted places do not matter.
    pub fn store(&mut self, number: u32, labels: &Page, listed: Listed) {
        let (first, is_one) = if are_all_one(labels) { (labels[0], true) } else { of_listed(labels, listed) };
        match (entry(&self.window, number), is_one) {
            (Entry::Whole(_), true) => set_entry(&self.window, number, Entry::Whole(first)),
            (Entry::Page(taken), true) => {
                set_entry(&self.window, number, Entry::Whole(first));
                self.free.push(taken);
            }
            (Entry::Page(taken), false) => self.write(taken, labels),
            (Entry::Whole(_), false) => match self.free.pop() {
                Some(taken) => {
                    self.write(taken, labels);
                    set_entry(&self.window, number, Entry::Page(taken));
                }
                // No page is free: the packets are still counted, but for `other`.
                None => set_entry(&self.window, number, Entry::Whole(OTHER)),
            },
        }
    }

    fn write(&self, taken: u32, labels: &Page) {
        let page = page(&self.window, self.directory, taken);
        (0..).zip(labels).for_each(|(at, label)| page.write(at, *label));
    }
}

/// Compares each label with its neighbour, so that the processor can compare many at a time.
fn are_all_one(labels: &Page) -> bool {
    labels[1..] == labels[..labels.len() - 1]
}

/// The first label among the listed places, and whether all listed places have it.
fn of_listed(labels: &Page, listed: Listed) -> (Label, bool) {
    let is_listed = |at: &usize| listed[at / 64] >> (at % 64) & 1 != 0;
    let mut those = (0..PAGE as usize).filter(is_listed).map(|at| labels[at]);
    let first = those.next().unwrap_or(OTHER);
    (first, those.all(|label| label == first))
}
