//! How packets are judged, whatever is listed.

use filter_common::reason::Enforcement;

/// Settings that travel with what is published to packets, never ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Drop what is blocked, or only count it? As the configuration says.
    pub enforce: bool,
    /// Is it only counted for a while, whatever the configuration says?
    pub paused: bool,
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
        Self { enforce: true, paused: false, match_new: false }
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

    /// How much of what is blocked is dropped.
    pub fn strictness(self) -> Strictness {
        match (self.enforcement(), self.match_new) {
            (Enforcement::Count | Enforcement::Pause, _) => Strictness::Nothing,
            (Enforcement::Drop, true) => Strictness::New,
            (Enforcement::Drop, false) => Strictness::All,
        }
    }
}
