//! Remembers one figure for each of the last seconds.

use std::collections::VecDeque;

/// The number of seconds that are remembered, which is the width of the widest screen.
const MOST: usize = 300;

/// One figure for each second, the latest last; None if it is unknown.
#[derive(Debug, Default)]
pub struct History(VecDeque<Option<u64>>);

impl History {
    /// Adds the figure of one more second.
    pub fn push(&mut self, figure: Option<f64>) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(figure.map(|figure| figure.round() as u64));
    }

    /// The figures of the last `room` seconds, the latest last. Earlier seconds than the first are unknown.
    pub fn latest(&self, room: usize) -> Vec<Option<u64>> {
        let missing = room.saturating_sub(self.0.len());
        let known = self.0.iter().skip(self.0.len().saturating_sub(room)).copied();
        std::iter::repeat_n(None, missing).chain(known).collect()
    }
}
