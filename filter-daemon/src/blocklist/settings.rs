//! How packets are judged, whatever is listed.

use filter_common::labels::Counters;
use filter_common::reason::Enforcement;

use super::Timestamp;

/// Settings that travel with what is published to packets, never ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Drop what is blocked, or only count it? As the configuration says.
    pub enforce: bool,
    /// Until when it is only counted, whatever the configuration says.
    pub paused: Option<Timestamp>,
    /// Are packets counted for each list, too?
    pub counters: Counters,
    /// Does what is part of a flow of this host's own pass, whoever sends it?
    pub match_new: bool,
}

/// How much of what is blocked is dropped: what comes later drops all that what comes before drops, and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strictness {
    /// Nothing.
    Nothing,
    /// What this host did not begin.
    New,
    /// All of it.
    All,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enforce: true, paused: None, counters: Counters::default(), match_new: false }
    }
}

impl Settings {
    /// What is done about packets that are to be dropped. A pause changes nothing where nothing is dropped anyway.
    pub fn enforcement(self) -> Enforcement {
        match (self.enforce, self.paused) {
            (false, _) => Enforcement::Count,
            (true, None) => Enforcement::Drop,
            (true, Some(_)) => Enforcement::Pause,
        }
    }

    /// The same at `now`: a pause that is over is none, whether or not anybody has ended it.
    pub fn at(self, now: Timestamp) -> Self {
        Self { paused: self.paused.filter(|until| *until > now), ..self }
    }

    /// The same without a pause, which is no part of a configuration, and may end by itself meanwhile.
    pub const fn unpaused(self) -> Self {
        Self { paused: None, ..self }
    }

    /// How much of what is blocked is dropped.
    pub fn strictness(self) -> Strictness {
        match (self.enforcement(), self.match_new) {
            (Enforcement::Count | Enforcement::Pause, _) => Strictness::Nothing,
            (Enforcement::Drop, true) => Strictness::New,
            (Enforcement::Drop, false) => Strictness::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_counted_anyway_is_not_spared_by_a_pause() {
        let paused = Some(Timestamp::from_secs(7));
        let enforcement = |enforce, paused| Settings { enforce, paused, ..Settings::default() }.enforcement();
        assert_eq!(enforcement(true, None), Enforcement::Drop);
        assert_eq!(enforcement(true, paused), Enforcement::Pause);
        for paused in [None, paused] {
            assert_eq!(enforcement(false, paused), Enforcement::Count);
        }
    }
}
