//! How many targets there are of each length: all that is asked to find who covers an address.

use filter_common::target::Target;

/// Counts of targets by family and length, single IPv4 addresses left out.
#[derive(Debug)]
pub struct Cover {
    v4: [u64; 33],
    v6: [u64; 129],
}

impl Default for Cover {
    fn default() -> Self {
        Self { v4: [0; 33], v6: [0; 129] }
    }
}

impl Cover {
    /// IPv4 lengths in use, each with its count.
    pub fn v4(&self) -> impl DoubleEndedIterator<Item = (u8, u64)> + '_ {
        in_use(&self.v4)
    }

    /// IPv6 lengths in use, each with its count.
    pub fn v6(&self) -> impl DoubleEndedIterator<Item = (u8, u64)> + '_ {
        in_use(&self.v6)
    }

    /// Is there any IPv6 target of this length?
    pub const fn has6(&self, length: u8) -> bool {
        self.v6[length as usize] > 0
    }

    pub(super) fn enter(&mut self, target: Target) {
        *self.of(target) += 1;
    }

    pub(super) fn leave(&mut self, target: Target) {
        *self.of(target) -= 1;
    }

    fn of(&mut self, target: Target) -> &mut u64 {
        match target {
            Target::V4(prefix) => &mut self.v4[usize::from(prefix.length())],
            Target::V6(prefix) => &mut self.v6[usize::from(prefix.length())],
        }
    }
}

fn in_use(counts: &[u64]) -> impl DoubleEndedIterator<Item = (u8, u64)> + '_ {
    counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(length, count)| (length as u8, *count))
}
