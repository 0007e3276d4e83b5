//! What a second brought, of each second of late.

use std::collections::VecDeque;

/// So many seconds are remembered: as many as the widest screen has columns.
const MOST: usize = 300;

/// A figure of each second, the latest last; none of a second of which nobody knows.
#[derive(Debug, Default)]
pub struct History(VecDeque<Option<u64>>);

impl History {
    /// One more second.
    pub fn push(&mut self, figure: Option<f64>) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(figure.map(|figure| figure.round() as u64));
    }

    /// As many as there is room for, the latest last; before the first there is nothing to be known.
    pub fn latest(&self, room: usize) -> Vec<Option<u64>> {
        let missing = room.saturating_sub(self.0.len());
        let known = self.0.iter().skip(self.0.len().saturating_sub(room)).copied();
        std::iter::repeat_n(None, missing).chain(known).collect()
    }
}
