//! When a list is believed, and when what was there before stays: decided by counts alone.
//!
//! A download that failed, a disk that was full and a script that went wrong leave a list that is missing, empty, full of
//! something else or suddenly much shorter. Whoever means that says so.

use std::fmt;

use super::format::Lack;

/// Shorter lists than this may shrink as they like: somebody edits them by hand.
const SHRINKS_FREELY: u64 = 100;

/// More bytes a target than any list spends on the average, comments included.
const BYTES_A_TARGET: u64 = 128;

/// Every file may have as many bytes as this.
const LEAST_BYTES: u64 = 1 << 20;

/// How much a list may change without being asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// By how many percent it may become shorter; by 100, it may become empty, too.
    pub max_shrink: u8,
    /// How many percent of its lines may be something else than targets.
    pub max_rejected: u8,
    /// How many targets it may have.
    pub max_entries: u64,
    /// How many it must have.
    pub min_entries: u64,
    /// May nothing be on it when it is first loaded? A file may be filled later; of what is fetched that is more likely a
    /// fault, unless the operator knows.
    pub may_begin_empty: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_shrink: 50,
            max_rejected: 25,
            max_entries: 5_000_000,
            min_entries: 0,
            may_begin_empty: true,
        }
    }
}

/// What was found where a list should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing.
    Missing,
    /// Something that cannot be read.
    Unreadable,
    /// Lines.
    Lines {
        /// Those that are neither blank nor comments.
        lines: u64,
        /// Those among them that are no targets.
        rejected: u64,
        /// Those of them that are well understood, and nothing that a list can have: no sign that it is spoilt.
        unfit: u64,
        /// How many targets the others make.
        targets: u64,
        /// There are more than the list may have; they were not read.
        is_cut: bool,
        /// What is missing by the list's own words.
        lack: Option<Lack>,
    },
}

/// What becomes of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is what the list says from now on.
    Accept,
    /// What was there before stays.
    HoldBack(Doubt),
    /// There was nothing before, so what can be read is better than nothing.
    TakePart(Doubt),
}

/// Why a list is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It is not there.
    Missing,
    /// It cannot be read.
    Unreadable,
    /// Nothing is on it any more.
    Empty {
        /// So many were on it.
        before: u64,
    },
    /// Nothing is on it, and nothing ever was.
    NeverFilled,
    /// It has fewer targets than it must have.
    TooFew {
        /// So many.
        least: u64,
        /// So many are there.
        now: u64,
    },
    /// Something is missing of it.
    Lacks(Lack),
    /// Too many of its lines are something else.
    Rejected {
        /// Lines.
        lines: u64,
        /// Those that are no targets.
        rejected: u64,
    },
    /// It has become much shorter.
    Shrunk {
        /// So many were on it.
        before: u64,
        /// So many are left.
        now: u64,
    },
    /// It has more targets than it may have.
    TooMany {
        /// So many.
        most: u64,
    },
}

impl Limits {
    /// How many bytes of a file are read.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        self.max_entries.saturating_mul(BYTES_A_TARGET).max(LEAST_BYTES)
    }

    /// Those by which a list is judged that was loaded once: where they are others, what was judged before is judged again.
    #[must_use]
    pub fn numbers(&self) -> [u64; 4] {
        [self.max_shrink.into(), self.max_rejected.into(), self.max_entries, self.min_entries]
    }

    /// Is what was found taken for what the list says? `before` is how many targets it had, if it was ever loaded;
    /// `is_meant` says that the operator knows.
    #[must_use]
    pub fn judge(&self, seen: Seen, before: Option<u64>, is_meant: bool) -> Verdict {
        let Some(doubt) = self.doubt(seen, before) else { return Verdict::Accept };
        let has_targets = matches!(seen, Seen::Lines { targets: 1.., .. });
        if is_meant && doubt.may_be_meant() {
            Verdict::Accept
        } else if before.unwrap_or(0) == 0 && has_targets {
            Verdict::TakePart(doubt)
        } else {
            Verdict::HoldBack(doubt)
        }
    }

    fn doubt(&self, seen: Seen, loaded: Option<u64>) -> Option<Doubt> {
        let (lines, rejected, unfit, now) = match seen {
            Seen::Missing => return Some(Doubt::Missing),
            Seen::Unreadable => return Some(Doubt::Unreadable),
            Seen::Lines { is_cut: true, .. } => return Some(Doubt::TooMany { most: self.max_entries }),
            Seen::Lines { lack: Some(lack), .. } => return Some(Doubt::Lacks(lack)),
            Seen::Lines { lines, rejected, unfit, targets, .. } => (lines, rejected, unfit, targets),
        };
        let (may_shrink, before) = (self.max_shrink >= 100, loaded.unwrap_or(0));
        if percent(rejected - unfit) > (lines - unfit).saturating_mul(self.max_rejected.into()) {
            Some(Doubt::Rejected { lines, rejected })
        } else if now < self.min_entries {
            Some(Doubt::TooFew { least: self.min_entries, now })
        } else if now == 0 && loaded.is_none() && !self.may_begin_empty {
            Some(Doubt::NeverFilled)
        } else if now == 0 && before > 0 && !may_shrink {
            Some(Doubt::Empty { before })
        } else if before >= SHRINKS_FREELY
            && percent(before.saturating_sub(now)) > before.saturating_mul(self.max_shrink.into())
        {
            Some(Doubt::Shrunk { before, now })
        } else {
            None
        }
    }
}

fn percent(count: u64) -> u64 {
    count.saturating_mul(100)
}

impl Doubt {
    /// Can the operator say that it is as it should be? What cannot be read at all says nothing that could be meant, and a
    /// limit is a word of the operator's own.
    #[must_use]
    pub fn may_be_meant(&self) -> bool {
        !matches!(self, Self::Unreadable | Self::TooMany { .. } | Self::TooFew { .. })
    }
}

/// Follows the name of the file.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing"),
            Self::Unreadable => f.write_str("cannot be read"),
            Self::Empty { before: 1 } => f.write_str("is empty, and had 1 target"),
            Self::Empty { before } => write!(f, "is empty, and had {before} targets"),
            Self::NeverFilled => f.write_str("has nothing on it, and never had"),
            Self::Rejected { lines: 1, .. } => f.write_str("has one line, and it was not taken"),
            Self::Rejected { lines, rejected: 1 } => {
                write!(f, "has {lines} lines, and 1 of them was not taken")
            }
            Self::Rejected { lines, rejected } => {
                write!(f, "has {lines} lines, and {rejected} of them were not taken")
            }
            Self::Shrunk { before, now: 1 } => write!(f, "has 1 target, and had {before}"),
            Self::Shrunk { before, now } => write!(f, "has {now} targets, and had {before}"),
            Self::TooFew { least, now: 1 } => write!(f, "has 1 target, and must have {least}"),
            Self::TooFew { least, now } => write!(f, "has {now} targets, and must have {least}"),
            Self::Lacks(lack) => lack.fmt(f),
            Self::TooMany { most } => write!(f, "has more than {most} targets"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(targets: u64, rejected: u64) -> Seen {
        Seen::Lines { lines: targets + rejected, rejected, unfit: 0, targets, is_cut: false, lack: None }
    }

    fn told(verdict: Verdict) -> String {
        match verdict {
            Verdict::Accept => "accept".to_owned(),
            Verdict::HoldBack(doubt) => format!("hold back: {doubt}"),
            Verdict::TakePart(doubt) => format!("take part: {doubt}"),
        }
    }

    #[test]
    fn every_doubt_has_its_answer() {
        let cut = Seen::Lines { lines: 9, rejected: 0, unfit: 0, targets: 9, is_cut: true, lack: None };
        let cases = [
            ("the first time, anything may be there", lines(7, 0), None, "accept"),
            ("or nothing", lines(0, 0), None, "accept"),
            ("what was empty stays so quietly", lines(0, 0), Some(0), "accept"),
            ("it grows", lines(900, 0), Some(3), "accept"),
            ("a short one shrinks freely", lines(1, 0), Some(99), "accept"),
            ("a long one by half", lines(50, 0), Some(100), "accept"),
            ("and no more", lines(49, 0), Some(100), "hold back: has 49 targets, and had 100"),
            ("none becomes empty", lines(0, 0), Some(1), "hold back: is empty, and had 1 target"),
            ("a quarter may be rubbish", lines(75, 25), Some(100), "accept"),
            (
                "and no more",
                lines(74, 26),
                Some(100),
                "hold back: has 100 lines, and 26 of them were not taken",
            ),
            (
                "nothing but rubbish",
                lines(0, 3),
                Some(4),
                "hold back: has 3 lines, and 3 of them were not taken",
            ),
            (
                "what can be read is taken where nothing was",
                lines(2, 1),
                None,
                "take part: has 3 lines, and 1 of them was not taken",
            ),
            ("but nothing is nothing", lines(0, 1), None, "hold back: has one line, and it was not taken"),
            ("it is gone", Seen::Missing, Some(4), "hold back: is missing"),
            ("it never was", Seen::Missing, None, "hold back: is missing"),
            ("permissions", Seen::Unreadable, Some(4), "hold back: cannot be read"),
            ("too many", cut, Some(4), "hold back: has more than 5000000 targets"),
            ("too many the first time", cut, None, "take part: has more than 5000000 targets"),
        ];
        for (what, seen, before, expected) in cases {
            assert_eq!(told(Limits::default().judge(seen, before, false)), expected, "{what}");
        }
    }

    #[test]
    fn what_is_meant_is_taken_unless_there_is_nothing_to_mean() {
        for seen in [lines(0, 0), lines(1, 0), lines(1, 9), lines(0, 9), Seen::Missing] {
            assert_eq!(Limits::default().judge(seen, Some(1000), true), Verdict::Accept, "{seen:?}");
        }
        let cut = Seen::Lines { lines: 9, rejected: 0, unfit: 0, targets: 9, is_cut: true, lack: None };
        for seen in [Seen::Unreadable, cut] {
            assert_ne!(Limits::default().judge(seen, Some(1000), true), Verdict::Accept, "{seen:?}");
        }
    }

    #[test]
    fn a_list_that_may_shrink_by_everything_may_become_empty_but_not_go_missing() {
        let limits = Limits { max_shrink: 100, ..Limits::default() };
        assert_eq!(limits.judge(lines(0, 0), Some(1000), false), Verdict::Accept);
        assert_eq!(limits.judge(Seen::Missing, Some(1000), false), Verdict::HoldBack(Doubt::Missing));
        assert_ne!(limits.judge(lines(0, 9), Some(1000), false), Verdict::Accept);
    }

    #[test]
    fn what_may_not_begin_empty_is_held_back_until_it_was_loaded_once() {
        let feed = Limits { may_begin_empty: false, ..Limits::default() };
        assert_eq!(told(feed.judge(lines(0, 0), None, false)), "hold back: has nothing on it, and never had");
        assert_eq!(feed.judge(lines(0, 0), None, true), Verdict::Accept, "the operator knows");
        assert_eq!(feed.judge(lines(0, 0), Some(0), false), Verdict::Accept, "it was accepted before");
        assert_eq!(feed.judge(lines(1, 0), None, false), Verdict::Accept);
        let more = Limits { min_entries: 3, ..feed };
        assert_eq!(told(more.judge(lines(0, 0), None, false)), "hold back: has 0 targets, and must have 3");
    }

    #[test]
    fn no_count_is_too_large_to_be_judged() {
        let limits = Limits { max_entries: u64::MAX, ..Limits::default() };
        let most = Seen::Lines {
            lines: u64::MAX,
            rejected: u64::MAX,
            unfit: 0,
            targets: u64::MAX,
            is_cut: false,
            lack: None,
        };
        assert_eq!(limits.judge(most, Some(u64::MAX), false), Verdict::Accept);
        assert_eq!(limits.most_bytes(), u64::MAX);
    }
}
