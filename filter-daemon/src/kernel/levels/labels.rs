//! Writes the labels of prefixes that the levels hold.

use filter_common::labels::{Label, LabelBytes, LabelsMut as _};
use filter_common::levels::labels::{Place, entry_of, listed};
use filter_common::target::Prefix6;

use crate::kernel::pages::LabelPages;
use crate::kernel::window::Window;

impl LabelPages {
    /// Writes the label of each place of `words`. The places of one node must be consecutive.
    pub fn write6(
        &mut self,
        words: &Window,
        places: impl Iterator<Item = (Place, Prefix6)>,
        label: impl Fn(Prefix6) -> Label,
    ) {
        let mut node: Option<(u32, [Label; 256], [u64; 4])> = None;
        for (place, prefix) in places {
            let (number, slash32) = match place {
                Place::Word(at) => {
                    LabelBytes(self.window()).write(at, label(prefix));
                    continue;
                }
                Place::Node(number, slash32) => (number, slash32 as usize),
            };
            if node.as_ref().is_none_or(|(other, ..)| *other != number) {
                self.put6(node.take());
            }
            let (_, labels, bits) =
                node.get_or_insert_with(|| (number, self.labels(entry_of(number)), listed(words, number)));
            labels[slash32] = label(prefix);
            bits[slash32 / 64] |= 1 << (slash32 % 64);
        }
        self.put6(node);
    }

    /// Moves the labels of one node to the node that replaces it.
    pub fn move6(&mut self, words: &Window, from: u32, to: u32) {
        let labels = self.labels(entry_of(from));
        self.store(entry_of(to), &labels, listed(words, to));
        self.store(entry_of(from), &labels, [0; 4]);
    }

    fn put6(&mut self, node: Option<(u32, [Label; 256], [u64; 4])>) {
        if let Some((number, labels, bits)) = node {
            self.store(entry_of(number), &labels, bits);
        }
    }
}
