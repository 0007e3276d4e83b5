//! The settings by which packets are judged.

use filter_common::labels::Counters;
use filter_common::reason::Enforcement;

use super::Timestamp;

/// Settings that are published together with the tables, never before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether blocked packets are dropped or only counted, as the configuration says.
    pub enforce: bool,
    /// Until when packets are only counted, despite the configuration.
    pub paused: Option<Timestamp>,
    /// Whether packets are also counted for each list.
    pub counters: Counters,
    /// Whether packets of flows that this host began pass, even from blocked sources.
    pub match_new: bool,
    /// Whether calls of local processes that send to a blocked destination fail at once.
    pub outbound_errors: bool,
}

/// How much of the blocked traffic is dropped. Each later variant drops everything that earlier ones drop,
/// and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strictness {
    Nothing,
    /// Packets of flows that this host did not begin.
    New,
    All,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enforce: true,
            paused: None,
            counters: Counters::default(),
            match_new: false,
            outbound_errors: true,
        }
    }
}

impl Settings {
    /// The enforcement of packets that are to be dropped. A pause changes nothing if nothing is dropped
    /// anyway.
    pub fn enforcement(self) -> Enforcement {
        match (self.enforce, self.paused) {
            (false, _) => Enforcement::Count,
            (true, None) => Enforcement::Drop,
            (true, Some(_)) => Enforcement::Pause,
        }
    }

    /// The settings at `now`, without a pause that is over but not yet ended.
    pub fn at(self, now: Timestamp) -> Self {
        Self { paused: self.paused.filter(|until| *until > now), ..self }
    }

    /// The settings without a pause. A pause is no part of a configuration, and may end meanwhile.
    pub const fn unpaused(self) -> Self {
        Self { paused: None, ..self }
    }

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
    fn pause_changes_nothing_in_count_mode() {
        let paused = Some(Timestamp::from_secs(7));
        let enforcement = |enforce, paused| Settings { enforce, paused, ..Settings::default() }.enforcement();
        assert_eq!(enforcement(true, None), Enforcement::Drop);
        assert_eq!(enforcement(true, paused), Enforcement::Pause);
        for paused in [None, paused] {
            assert_eq!(enforcement(false, paused), Enforcement::Count);
        }
    }
}
