//! Decides by counts alone whether a new version of a list is accepted, or the earlier version stays in
//! force.
//!
//! After a failed download, a full disk or a wrong script, a list is missing, empty, full of other text or
//! suddenly much shorter. An operator who intends such a change must say so.

use std::fmt;

use super::format::{ErrorPage, Lack};

/// Lists shorter than this may shrink freely, because they are edited by hand.
const SHRINKS_FREELY: u64 = 100;

/// More bytes for each target than any list needs on average, comments included.
const BYTES_A_TARGET: u64 = 128;

/// Every file may have at least this many bytes.
const LEAST_BYTES: u64 = 1 << 20;

/// The limits within which a list may change without a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest accepted decrease in percent. At 100 the list may also become empty.
    pub max_shrink: u8,
    /// The largest accepted share, in percent, of lines that are not targets.
    pub max_rejected: u8,
    /// The largest number of targets.
    pub max_entries: u64,
    /// The smallest number of targets.
    pub min_entries: u64,
    /// Whether the list is fetched from a server, which may send something else.
    pub is_fetched: bool,
    /// Whether the list may be empty when it is first loaded. A file may be filled later, while an empty
    /// fetched list is probably an error unless the operator says otherwise.
    pub may_begin_empty: bool,
    /// Whether another choice from a database may be empty: the operator wrote `min_entries`.
    pub may_choose_nothing: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_shrink: 50,
            max_rejected: 25,
            max_entries: 5_000_000,
            min_entries: 0,
            is_fetched: false,
            may_begin_empty: true,
            may_choose_nothing: false,
        }
    }
}

/// The result of looking for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFinding {
    /// There is no such file.
    Missing,
    /// The file cannot be read.
    Unreadable,
    /// The file was read as lines.
    Lines(LineCounts),
}

/// The counts of a list's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// The lines that are neither blank nor comments.
    pub lines: u64,
    /// Those lines that are not targets.
    pub rejected: u64,
    /// Those rejected lines that are understood but not supported. They are no sign of damage.
    pub unfit: u64,
    /// The number of targets in all other lines.
    pub targets: u64,
    /// True if there are more targets than allowed. The others were not read.
    pub is_cut: bool,
    /// The part that is missing according to the list itself.
    pub lack: Option<Lack>,
    /// The kind of page that was sent in place of a list.
    pub page: Option<ErrorPage>,
    /// True if the last line has no line end.
    pub has_open_end: bool,
}

/// The size of a list before this change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeBefore {
    /// The number of targets in force.
    pub entries: u64,
    /// The largest number of targets in the last days. 0 if the list was never longer than it is.
    pub largest: u64,
    /// Whether the version in force also ends without a line end. None if unknown.
    pub has_open_end: Option<bool>,
    /// True if the version in force is another choice from a database, so that its size says nothing.
    pub is_another_choice: bool,
}

/// The decision about a new version of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListVerdict {
    /// The new version takes effect.
    Accept,
    /// The earlier version stays in force.
    HoldBack(Doubt),
    /// There is no earlier version, so the readable part takes effect.
    TakePart(Doubt),
}

/// The reason why a list is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The file is missing.
    Missing,
    /// The file cannot be read.
    Unreadable,
    /// The list has become empty.
    Empty {
        /// The number of targets before.
        before: u64,
    },
    /// The list is empty and was never filled.
    NeverFilled,
    /// The database has nothing of the countries or systems that the list chooses now.
    NothingChosen {
        /// The number of targets before.
        before: u64,
    },
    /// The list has fewer targets than `min_entries`.
    TooFew {
        /// The required number of targets.
        least: u64,
        /// The number of targets now.
        now: u64,
    },
    /// A part of the list is missing.
    Lacks(Lack),
    /// The file is not a list.
    NoList(ErrorPage),
    /// The list ends in the middle of a line, and is shorter than before.
    CutOff {
        /// The number of targets before.
        before: u64,
        /// The number of targets now.
        now: u64,
    },
    /// Too many lines are not targets.
    Rejected {
        /// The number of lines.
        lines: u64,
        /// The number of lines that are not targets.
        rejected: u64,
    },
    /// The list has become much shorter.
    Shrunk {
        /// The number of targets before.
        before: u64,
        /// The largest number of targets in the last days.
        largest: u64,
        /// The number of targets now.
        now: u64,
    },
    /// The list has more targets than `max_entries`.
    TooMany {
        /// The allowed number of targets.
        most: u64,
    },
}

impl Limits {
    /// The largest number of bytes that are read from a file.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        self.max_entries.saturating_mul(BYTES_A_TARGET).max(LEAST_BYTES)
    }

    /// The limits that apply to a list that was loaded once. If they change, an earlier decision is made
    /// again.
    #[must_use]
    pub fn numbers(&self) -> [u64; 4] {
        [self.max_shrink.into(), self.max_rejected.into(), self.max_entries, self.min_entries]
    }

    /// Decides about a new version of a list. `before` is the size of the version in force, if there is one.
    /// `is_meant` says that the operator confirmed the change.
    #[must_use]
    pub fn judge(&self, seen: SourceFinding, before: Option<SizeBefore>, is_meant: bool) -> ListVerdict {
        let Some(doubt) = self.doubt(seen, before) else { return ListVerdict::Accept };
        let has_targets = matches!(seen, SourceFinding::Lines(LineCounts { targets: 1.., .. }));
        if is_meant && doubt.may_be_meant() {
            ListVerdict::Accept
        } else if has_targets
            && before.is_none_or(|before| before.entries == 0 || before.is_another_choice)
            && self.may_take_part(doubt)
        {
            ListVerdict::TakePart(doubt)
        } else {
            ListVerdict::HoldBack(doubt)
        }
    }

    /// True if the readable part is better than nothing. A page that a server sent in place of a list is not:
    /// such pages often name the requesting host.
    fn may_take_part(&self, doubt: Doubt) -> bool {
        match doubt {
            Doubt::NoList(_) => false,
            Doubt::Rejected { .. } => !self.is_fetched,
            Doubt::Missing
            | Doubt::Unreadable
            | Doubt::Empty { .. }
            | Doubt::NeverFilled
            | Doubt::NothingChosen { .. }
            | Doubt::TooFew { .. }
            | Doubt::Lacks(_)
            | Doubt::CutOff { .. }
            | Doubt::Shrunk { .. }
            | Doubt::TooMany { .. } => true,
        }
    }

    fn doubt(&self, seen: SourceFinding, loaded: Option<SizeBefore>) -> Option<Doubt> {
        let seen = match seen {
            SourceFinding::Missing => return Some(Doubt::Missing),
            SourceFinding::Unreadable => return Some(Doubt::Unreadable),
            SourceFinding::Lines(LineCounts { is_cut: true, .. }) => {
                return Some(Doubt::TooMany { most: self.max_entries });
            }
            SourceFinding::Lines(LineCounts { page: Some(page), .. }) => return Some(Doubt::NoList(page)),
            SourceFinding::Lines(LineCounts { lack: Some(lack), .. }) => return Some(Doubt::Lacks(lack)),
            SourceFinding::Lines(lines) => lines,
        };
        let LineCounts { lines, rejected, unfit, targets: now, has_open_end, .. } = seen;
        let may_shrink = self.max_shrink >= 100;
        let SizeBefore { entries: before, largest, has_open_end: had_open_end, is_another_choice } =
            loaded.unwrap_or_default();
        let largest = largest.max(before);
        if percent(rejected - unfit) > (lines - unfit).saturating_mul(self.max_rejected.into()) {
            Some(Doubt::Rejected { lines, rejected })
        } else if now < self.min_entries {
            Some(Doubt::TooFew { least: self.min_entries, now })
        } else if now == 0 && loaded.is_none() && !self.may_begin_empty {
            Some(Doubt::NeverFilled)
        } else if is_another_choice {
            let is_doubted = now == 0 && before > 0 && !may_shrink && !self.may_choose_nothing;
            is_doubted.then_some(Doubt::NothingChosen { before })
        } else if now == 0 && before > 0 && !may_shrink {
            Some(Doubt::Empty { before })
        } else if has_open_end
            && had_open_end == Some(false)
            && now < before
            && (self.is_fetched || before >= SHRINKS_FREELY)
        {
            Some(Doubt::CutOff { before, now })
        } else if largest >= SHRINKS_FREELY
            && percent(largest.saturating_sub(now)) > largest.saturating_mul(self.max_shrink.into())
        {
            Some(Doubt::Shrunk { before, largest, now })
        } else {
            None
        }
    }
}

fn percent(count: u64) -> u64 {
    count.saturating_mul(100)
}

fn targets(count: u64) -> String {
    if count == 1 { "1 target".to_owned() } else { format!("{count} targets") }
}

impl Doubt {
    /// True if the operator may confirm that the change is intended. A list that cannot be read has no
    /// content to confirm, and the limits are the operator's own settings.
    #[must_use]
    pub fn may_be_meant(&self) -> bool {
        match self {
            Self::NoList(page) => page.may_be_meant(),
            Self::Unreadable | Self::TooMany { .. } | Self::TooFew { .. } => false,
            Self::Missing
            | Self::Empty { .. }
            | Self::NeverFilled
            | Self::NothingChosen { .. }
            | Self::Lacks(_)
            | Self::CutOff { .. }
            | Self::Rejected { .. }
            | Self::Shrunk { .. } => true,
        }
    }
}

/// Written to follow the name of the file.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing"),
            Self::Unreadable => f.write_str("cannot be read"),
            Self::Empty { before: 1 } => f.write_str("is empty, but had 1 target before"),
            Self::Empty { before } => write!(f, "is empty, but had {before} targets before"),
            Self::NeverFilled => f.write_str("is empty, and never had an entry"),
            Self::NothingChosen { before } => {
                write!(f, "has nothing for this list, which had {} before", targets(*before))
            }
            Self::Rejected { lines: 1, .. } => f.write_str("has one line, which was not understood"),
            Self::Rejected { lines, rejected: 1 } => {
                write!(f, "has {lines} lines, 1 of which was not understood")
            }
            Self::Rejected { lines, rejected } => {
                write!(f, "has {lines} lines, {rejected} of which were not understood")
            }
            Self::Shrunk { before, largest, now } => {
                write!(f, "has {}, but had {before} before", targets(*now))?;
                let is_of_before = largest > before;
                if is_of_before { write!(f, " and {largest} within the last 7 days") } else { Ok(()) }
            }
            Self::CutOff { before, now } => {
                write!(f, "ends in the middle of a line: it has {}, but had {before} before", targets(*now))
            }
            Self::NoList(page) => write!(f, "is not a list: {page}"),
            Self::TooFew { least, now } => write!(f, "has {}, but must have at least {least}", targets(*now)),
            Self::Lacks(lack) => lack.fmt(f),
            Self::TooMany { most } => write!(f, "has more than {most} targets"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(targets: u64, rejected: u64) -> SourceFinding {
        SourceFinding::Lines(LineCounts {
            lines: targets + rejected,
            rejected,
            targets,
            ..LineCounts::default()
        })
    }

    fn cut(targets: u64) -> SourceFinding {
        SourceFinding::Lines(LineCounts { lines: targets, targets, is_cut: true, ..LineCounts::default() })
    }

    fn open_ended(targets: u64) -> SourceFinding {
        SourceFinding::Lines(LineCounts {
            lines: targets,
            targets,
            has_open_end: true,
            ..LineCounts::default()
        })
    }

    fn page(page: ErrorPage) -> SourceFinding {
        SourceFinding::Lines(LineCounts { lines: 1, targets: 1, page: Some(page), ..LineCounts::default() })
    }

    fn before(entries: u64) -> Option<SizeBefore> {
        Some(SizeBefore { entries, ..SizeBefore::default() })
    }

    fn told(verdict: ListVerdict) -> String {
        match verdict {
            ListVerdict::Accept => "accept".to_owned(),
            ListVerdict::HoldBack(doubt) => format!("hold back: {doubt}"),
            ListVerdict::TakePart(doubt) => format!("take part: {doubt}"),
        }
    }

    #[test]
    fn every_doubt_has_its_answer() {
        let cases = [
            ("the first time, anything may be there", lines(7, 0), None, "accept"),
            ("or nothing", lines(0, 0), None, "accept"),
            ("what was empty stays so quietly", lines(0, 0), before(0), "accept"),
            ("it grows", lines(900, 0), before(3), "accept"),
            ("a short one shrinks freely", lines(1, 0), before(99), "accept"),
            ("a long one by half", lines(50, 0), before(100), "accept"),
            ("and no more", lines(49, 0), before(100), "hold back: has 49 targets, but had 100 before"),
            ("none becomes empty", lines(0, 0), before(1), "hold back: is empty, but had 1 target before"),
            ("a quarter may be rubbish", lines(75, 25), before(100), "accept"),
            (
                "and no more",
                lines(74, 26),
                before(100),
                "hold back: has 100 lines, 26 of which were not understood",
            ),
            (
                "nothing but rubbish",
                lines(0, 3),
                before(4),
                "hold back: has 3 lines, 3 of which were not understood",
            ),
            (
                "what can be read is taken where nothing was",
                lines(2, 1),
                None,
                "take part: has 3 lines, 1 of which was not understood",
            ),
            (
                "but nothing is nothing",
                lines(0, 1),
                None,
                "hold back: has one line, which was not understood",
            ),
            ("it is gone", SourceFinding::Missing, before(4), "hold back: is missing"),
            ("it never was", SourceFinding::Missing, None, "hold back: is missing"),
            ("permissions", SourceFinding::Unreadable, before(4), "hold back: cannot be read"),
            ("too many", cut(9), before(4), "hold back: has more than 5000000 targets"),
            ("too many the first time", cut(9), None, "take part: has more than 5000000 targets"),
        ];
        for (what, seen, before, expected) in cases {
            assert_eq!(told(Limits::default().judge(seen, before, false)), expected, "{what}");
        }
    }

    #[test]
    fn an_error_page_is_never_taken() {
        for limits in [Limits::default(), Limits { is_fetched: true, max_shrink: 100, ..Limits::default() }] {
            for size in [None, before(0), before(4000)] {
                let object = limits.judge(page(ErrorPage::Object), size, false);
                let expected = "hold back: is not a list: it is one JSON object that reports an error";
                assert_eq!(told(object), expected, "{size:?}");
                assert_ne!(
                    limits.judge(page(ErrorPage::Markup), size, true),
                    ListVerdict::Accept,
                    "{size:?}"
                );
            }
            assert_eq!(limits.judge(page(ErrorPage::Object), None, true), ListVerdict::Accept);
        }
    }

    #[test]
    fn rejected_page_is_no_partial_feed() {
        let feed = Limits { is_fetched: true, ..Limits::default() };
        let rejected = Doubt::Rejected { lines: 3, rejected: 1 };
        assert_eq!(feed.judge(lines(2, 1), None, false), ListVerdict::HoldBack(rejected));
        assert_eq!(Limits::default().judge(lines(2, 1), None, false), ListVerdict::TakePart(rejected));
    }

    #[test]
    fn halving_again_and_again_is_noticed() {
        let was = |entries, largest| Some(SizeBefore { entries, largest, ..SizeBefore::default() });
        let limits = Limits::default();
        assert_eq!(limits.judge(lines(2001, 0), was(4000, 0), false), ListVerdict::Accept);
        assert_eq!(limits.judge(lines(2000, 0), was(2001, 4000), false), ListVerdict::Accept);
        assert_eq!(
            told(limits.judge(lines(1001, 0), was(2001, 4000), false)),
            "hold back: has 1001 targets, but had 2001 before and 4000 within the last 7 days"
        );
        assert_eq!(limits.judge(lines(1001, 0), was(2001, 4000), true), ListVerdict::Accept);
        assert_eq!(limits.judge(lines(40, 0), was(60, 99), false), ListVerdict::Accept, "it is short");
        assert_ne!(limits.judge(lines(40, 0), was(60, 100), false), ListVerdict::Accept, "it was not");
    }

    #[test]
    fn cut_line_with_fewer_targets_is_refused() {
        let was = |entries, has_open_end| Some(SizeBefore { entries, has_open_end, ..SizeBefore::default() });
        let (file, feed) = (Limits::default(), Limits { is_fetched: true, ..Limits::default() });
        assert_eq!(
            told(feed.judge(open_ended(3752), was(7389, Some(false)), false)),
            "hold back: ends in the middle of a line: it has 3752 targets, but had 7389 before"
        );
        assert_ne!(file.judge(open_ended(99), was(100, Some(false)), false), ListVerdict::Accept);
        assert_ne!(feed.judge(open_ended(1), was(2, Some(false)), false), ListVerdict::Accept);
        for (what, limits, seen, before) in [
            ("it is edited by hand", file, open_ended(98), was(99, Some(false))),
            ("it never ends with a line", feed, open_ended(99), was(100, Some(true))),
            ("nobody knows how it ended", feed, open_ended(99), was(100, None)),
            ("it has as many", feed, open_ended(100), was(100, Some(false))),
            ("it ends with a line", feed, lines(99, 0), was(100, Some(false))),
            ("it is new", feed, open_ended(99), None),
        ] {
            assert_eq!(limits.judge(seen, before, false), ListVerdict::Accept, "{what}");
        }
        assert_eq!(feed.judge(open_ended(99), was(100, Some(false)), true), ListVerdict::Accept);
    }

    #[test]
    fn confirmed_change_is_accepted_if_possible() {
        for seen in [lines(0, 0), lines(1, 0), lines(1, 9), lines(0, 9), SourceFinding::Missing] {
            assert_eq!(Limits::default().judge(seen, before(1000), true), ListVerdict::Accept, "{seen:?}");
        }
        for seen in [SourceFinding::Unreadable, cut(9)] {
            assert_ne!(Limits::default().judge(seen, before(1000), true), ListVerdict::Accept, "{seen:?}");
        }
    }

    #[test]
    fn full_shrink_allows_empty_but_not_missing() {
        let limits = Limits { max_shrink: 100, ..Limits::default() };
        assert_eq!(limits.judge(lines(0, 0), before(1000), false), ListVerdict::Accept);
        assert_eq!(
            limits.judge(SourceFinding::Missing, before(1000), false),
            ListVerdict::HoldBack(Doubt::Missing)
        );
        assert_ne!(limits.judge(lines(0, 9), before(1000), false), ListVerdict::Accept);
    }

    #[test]
    fn another_choice_may_be_shorter_but_not_empty() {
        let was = |entries| Some(SizeBefore { is_another_choice: true, largest: 9000, ..before(entries)? });
        let limits = Limits::default();
        assert_eq!(limits.judge(lines(1, 0), was(4000), false), ListVerdict::Accept);
        assert_eq!(
            told(limits.judge(lines(0, 0), was(3), false)),
            "hold back: has nothing for this list, which had 3 targets before"
        );
        assert_eq!(limits.judge(lines(0, 0), was(3), true), ListVerdict::Accept, "the operator knows");
        assert_eq!(limits.judge(lines(0, 0), was(0), false), ListVerdict::Accept, "it was empty before");
        for limits in [Limits { may_choose_nothing: true, ..limits }, Limits { max_shrink: 100, ..limits }] {
            assert_eq!(limits.judge(lines(0, 0), was(3), false), ListVerdict::Accept);
        }
    }

    #[test]
    fn empty_first_load_of_feed_is_refused() {
        let feed = Limits { may_begin_empty: false, ..Limits::default() };
        assert_eq!(told(feed.judge(lines(0, 0), None, false)), "hold back: is empty, and never had an entry");
        assert_eq!(feed.judge(lines(0, 0), None, true), ListVerdict::Accept, "the operator knows");
        assert_eq!(feed.judge(lines(0, 0), before(0), false), ListVerdict::Accept, "it was accepted before");
        assert_eq!(feed.judge(lines(1, 0), None, false), ListVerdict::Accept);
        let more = Limits { min_entries: 3, ..feed };
        assert_eq!(
            told(more.judge(lines(0, 0), None, false)),
            "hold back: has 0 targets, but must have at least 3"
        );
    }

    #[test]
    fn no_count_is_too_large_to_be_judged() {
        let limits = Limits { max_entries: u64::MAX, ..Limits::default() };
        let (lines, rejected, targets) = (u64::MAX, u64::MAX, u64::MAX);
        let most = SourceFinding::Lines(LineCounts { lines, rejected, targets, ..LineCounts::default() });
        assert_eq!(limits.judge(most, before(u64::MAX), false), ListVerdict::Accept);
        assert_eq!(limits.most_bytes(), u64::MAX);
    }
}
