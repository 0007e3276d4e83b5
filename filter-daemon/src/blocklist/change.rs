//! What somebody wants of the blocklist: the only way in, whoever says it.

use std::sync::Arc;

use super::{Origin, Polarity, Settings, Targets, Timestamp, Undo};

/// A change, as it is asked for: by a command, the configuration, a list file, or the clock.
#[derive(Clone, Debug)]
pub enum Change {
    /// A list wants these targets from now on, whatever else it wants. Wanting one again extends it, and shortens it only
    /// where that is said.
    Want(Want),
    /// A list no longer wants these targets.
    Release {
        /// Whose entries.
        from: From,
        /// Which.
        targets: Targets,
    },
    /// What a list wants of these reaches as far as its row says by now.
    Reach {
        /// Its name.
        list: Arc<str>,
        /// Which.
        targets: Targets,
    },
    /// What is over by now goes, up to so many entries of one side.
    Expire {
        /// Of which.
        polarity: Polarity,
        /// How many.
        most: usize,
    },
    /// Packets are to be judged as the configuration says.
    Settings(Settings),
    /// Packets are only to be counted until then, or no longer. Whatever else a change says of settings leaves this alone.
    Pause(Option<Timestamp>),
    /// Nobody knows any more whether anything allowed overlaps anything blocked: it is to be found out, a page of it.
    LookForOverlap,
    /// The next page of targets goes by the order in which the lists stand now.
    Relabel,
    /// What an earlier change did is undone, except where others have changed it since.
    Undo(Undo),
}

/// What a list wants, and how.
#[derive(Clone, Debug)]
pub struct Want {
    /// The list's name.
    pub list: Arc<str>,
    /// Where such a list comes from, should there be none of this name yet.
    pub origin: Origin,
    /// Is on it what is blocked, or what is allowed?
    pub polarity: Polarity,
    /// Until when; permanent if none.
    pub until: Option<Timestamp>,
    /// Does that hold for what the list wants for longer, too?
    pub shorten: bool,
    /// Why, in the words of whoever adds it.
    pub note: Option<Arc<str>>,
    /// Who adds it: user and command.
    pub by: Option<Arc<str>>,
    /// Which.
    pub targets: Targets,
}

impl Want {
    /// A live list wants these, permanently; nobody says why, or who. Whoever says more writes it before `..`.
    pub fn live(list: impl Into<Arc<str>>, polarity: Polarity, targets: Targets) -> Self {
        Self {
            list: list.into(),
            origin: Origin::Live,
            polarity,
            until: None,
            shorten: false,
            note: None,
            by: None,
            targets,
        }
    }
}

/// Whose entries are released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// Those of this list.
    List(Arc<str>),
    /// Those of every live list that blocks, or of every one that allows.
    EveryLiveList(Polarity),
}
