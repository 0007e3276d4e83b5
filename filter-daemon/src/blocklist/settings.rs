//! How packets are judged, whatever is listed.

use filter_common::labels::Counters;
use filter_common::reason::Enforcement;

/// Settings that travel with what is published to packets, never ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Drop what is blocked, or only count it? As the configuration says.
    pub enforce: bool,
    /// Is it only counted for a while, whatever the configuration says?
    pub paused: bool,
    /// Are packets counted for each list, too?
    pub counters: Counters,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enforce: true, paused: false, counters: Counters::default() }
    }
}

impl Settings {
    /// What is done about packets that are to be dropped. A pause changes nothing where nothing is dropped anyway.
    pub fn enforcement(self) -> Enforcement {
        match (self.enforce, self.paused) {
            (false, _) => Enforcement::Count,
            (true, false) => Enforcement::Drop,
            (true, true) => Enforcement::Pause,
        }
    }

    /// Is what is blocked dropped?
    pub fn drops(self) -> bool {
        self.enforcement() == Enforcement::Drop
    }
}
