//! Clocks that jump: between two filterds the time since boot is later than the clock on the wall says, or the machine was
//! booted meanwhile and counts from somewhere else.

use std::time::Duration;

use super::Life;
use crate::OtherTime;

/// How far a clock jumps, in seconds: over the end of short bans, of those of an hour, and far.
const JUMPS: [u64; 5] = [3, 10, 1_800, 3_700, 1_000_000];

impl Life {
    /// The next filterd lives later, by the time since boot: somebody has set the clock on the wall back by as much. In the
    /// same boot it is the time since boot that counts.
    pub(super) fn time_jumps(&mut self) -> String {
        if self.left_out.has("clocks") || self.random.below(3) > 0 {
            return String::new();
        }
        let jump = JUMPS[self.random.below(JUMPS.len())];
        self.later += Duration::from_secs(jump);
        self.reference.lose(jump as f64);
        self.saved.1.lose(jump as f64);
        self.live_in_time();
        format!("; {jump} s later by the time since boot")
    }

    /// The next filterd lives in another boot, which has its own time; what counts is the clock on the wall, which goes on.
    pub(super) fn machine_boots(&mut self) -> String {
        if self.left_out.has("clocks") || self.random.below(2) > 0 {
            return String::new();
        }
        self.boot += 1;
        self.later = Duration::from_secs(JUMPS[self.random.below(JUMPS.len())]);
        self.live_in_time();
        format!("; in another boot, {} s later by its time", self.later.as_secs())
    }

    fn live_in_time(&mut self) {
        let time = OtherTime::of(self.net.home(), self.boot, self.later);
        self.net.lives_in(time);
    }
}
