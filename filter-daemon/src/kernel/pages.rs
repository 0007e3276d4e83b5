//! Pages of labels behind their directory: which are in use, and what stands in them. A page is made where lists meet, and
//! given up where they no longer do; its number may be used again at once, since no verdict depends on it.

use filter_common::labels::pages::{Entry, PAGE, SIZES, entry, page, set_entry};
use filter_common::labels::{Label, Labels as _, LabelsMut as _, OTHER};

use super::window::Window;

/// Pages that are kept free, for whoever changes labels where nothing can be made larger.
const SPARE: usize = 16;

/// The labels of one entry of the directory.
pub type Page = [Label; PAGE as usize];

/// Of these which are listed.
pub type Listed = [u64; 4];

/// The pages of one map.
pub struct LabelPages {
    window: Window,
    directory: u32,
    size_bits: u32,
    free: Vec<u32>,
}

impl LabelPages {
    /// All of them free, in a fresh map whose directory has so many words.
    pub fn new(window: Window, directory: u32, size_bits: u32) -> Self {
        Self { window, directory, size_bits, free: (0..1 << size_bits).rev().collect() }
    }

    /// How many bits the number of pages has.
    pub const fn size_bits(&self) -> u32 {
        self.size_bits
    }

    /// Where they are.
    pub const fn window(&self) -> &Window {
        &self.window
    }

    /// How many bits a map must have that has pages for these, too; none if this one does, or none is larger.
    pub fn too_small_for(&self, pages: usize) -> Option<u32> {
        let used = (1 << self.size_bits) - self.free.len();
        let mut larger = SIZES.filter(|bits| *bits > self.size_bits);
        let enough = larger.clone().find(|bits| (1 << bits) >= used + pages + SPARE).or(larger.next_back());
        enough.filter(|_| self.free.len() < pages + SPARE)
    }

    /// The labels of this entry.
    pub fn labels(&self, number: u32) -> Page {
        match entry(&self.window, number) {
            Entry::Whole(label) => [label; PAGE as usize],
            Entry::Page(taken) => {
                let page = page(&self.window, self.directory, taken);
                std::array::from_fn(|at| page.label(at as u32))
            }
        }
    }

    /// Has this entry a page?
    pub fn has_page(&self, number: u32) -> bool {
        matches!(entry(&self.window, number), Entry::Page(_))
    }

    /// Replaces the labels of this entry, as far as they are listed.
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
                // Its packets are counted all the same.
                None => set_entry(&self.window, number, Entry::Whole(OTHER)),
            },
        }
    }

    fn write(&self, taken: u32, labels: &Page) {
        let page = page(&self.window, self.directory, taken);
        (0..).zip(labels).for_each(|(at, label)| page.write(at, *label));
    }
}

/// Each is as its neighbour: for the most part they are, and the processor compares many at a time.
fn are_all_one(labels: &Page) -> bool {
    labels[1..] == labels[..labels.len() - 1]
}

/// The first of those that are listed, and whether all of them have it.
fn of_listed(labels: &Page, listed: Listed) -> (Label, bool) {
    let is_listed = |at: &usize| listed[at / 64] >> (at % 64) & 1 != 0;
    let mut those = (0..PAGE as usize).filter(is_listed).map(|at| labels[at]);
    let first = those.next().unwrap_or(OTHER);
    (first, those.all(|label| label == first))
}
