//! What a second brought, of each second of late.

use std::collections::VecDeque;

/// So many seconds are remembered: as many as the widest screen has columns.
const MOST: usize = 300;

/// A figure of each second, the latest last.
#[derive(Debug, Default)]
pub struct History(VecDeque<u64>);

impl History {
    /// One more second. Of one that nobody knows nothing is drawn.
    pub fn push(&mut self, figure: Option<f64>) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(figure.map_or(0, |figure| figure.round() as u64));
    }

    /// The latest, as many as there is room for, the latest last.
    pub fn latest(&self, room: usize) -> Vec<u64> {
        self.0.iter().skip(self.0.len().saturating_sub(room)).copied().collect()
    }
}
