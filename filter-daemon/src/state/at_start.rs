//! What a start does with the generation that was on trial, or was rolled back.

use std::time::Duration;

use super::generation::TrialHead;
use super::manifest::FoundGeneration;

/// The present boot of the machine.
#[derive(Clone, Copy, Debug)]
pub struct PresentBoot<'a> {
    /// Its ID, empty if the kernel does not report it.
    pub id: &'a str,
    /// The time since it began, in milliseconds.
    pub now: i64,
}

/// What the manifest of a trial or of a rejected generation says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    Nothing,
    /// It is there, but cannot be understood.
    Damaged,
    Trial(TrialHead),
}

/// The configuration's file at a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundFile {
    /// It is missing or not valid.
    Unusable,
    /// It is valid and has this checksum.
    Valid(u32),
}

/// What a start does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartChoice {
    /// It takes the file. Nothing is on trial.
    TakeFile,
    /// It takes the file. That was changed after it was rolled back.
    TakeChangedFile,
    /// It takes the file. The trial goes on for this long.
    GoOn(TrialHead, Duration),
    /// It restores the current generation. The time of the trial is over.
    RollBack(TrialHead),
    /// It restores the current generation. The file is the one that was rolled back.
    StayRolledBack(TrialHead),
}

/// Decides what a start does. A trial counts before an earlier rollback, and a damaged manifest counts as a
/// trial whose time is over.
pub fn at_start(
    trial: Recorded,
    rejected: Recorded,
    boot: PresentBoot<'_>,
    file: impl FnOnce() -> FoundFile,
) -> StartChoice {
    match (trial, rejected) {
        (Recorded::Trial(head), _) => match head.left(boot) {
            Some(left) => StartChoice::GoOn(head, left),
            None => StartChoice::RollBack(head),
        },
        (Recorded::Damaged, _) | (Recorded::Nothing, Recorded::Damaged) => {
            StartChoice::RollBack(TrialHead::damaged())
        }
        (Recorded::Nothing, Recorded::Trial(head)) => match file() {
            // An invalid file does not end a rollback.
            FoundFile::Valid(checksum) if checksum != head.file => StartChoice::TakeChangedFile,
            FoundFile::Valid(_) | FoundFile::Unusable => StartChoice::StayRolledBack(head),
        },
        (Recorded::Nothing, Recorded::Nothing) => StartChoice::TakeFile,
    }
}

impl TrialHead {
    /// The time left. None if it is over, or if the trial is of another boot.
    pub fn left(&self, boot: PresentBoot<'_>) -> Option<Duration> {
        let left = u64::try_from(self.end.saturating_sub(boot.now)).ok().filter(|left| *left > 0)?;
        (!self.boot.is_empty() && self.boot == boot.id).then(|| Duration::from_millis(left))
    }

    /// Of a trial whose record is damaged: its time counts as over.
    pub(super) fn damaged() -> Self {
        let by = "an unknown user (the record is damaged)".to_owned();
        Self { boot: String::new(), end: 0, by, file: 0 }
    }
}

impl From<&FoundGeneration> for Recorded {
    fn from(found: &FoundGeneration) -> Self {
        match found {
            FoundGeneration::Missing => Self::Nothing,
            FoundGeneration::Read { generation, .. } => {
                generation.trial.clone().map_or(Self::Damaged, Self::Trial)
            }
            FoundGeneration::Damaged(_) | FoundGeneration::Newer => Self::Damaged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: u32 = 7;

    fn head(boot: &str, end: i64) -> TrialHead {
        TrialHead { boot: boot.to_owned(), end, by: "alice".to_owned(), file: FILE }
    }

    /// Every combination of what a start can find.
    #[test]
    fn start_does_one_thing_for_each_record() {
        let boot = PresentBoot { id: "this boot", now: 1000 };
        let (on, over, other, unknown) =
            (head("this boot", 1500), head("this boot", 1000), head("other boot", 1500), head("", 1500));
        let trials = [
            (Recorded::Nothing, None),
            (Recorded::Damaged, Some(StartChoice::RollBack(TrialHead::damaged()))),
            (Recorded::Trial(on.clone()), Some(StartChoice::GoOn(on, Duration::from_millis(500)))),
            (Recorded::Trial(over.clone()), Some(StartChoice::RollBack(over.clone()))),
            (Recorded::Trial(other.clone()), Some(StartChoice::RollBack(other))),
            (Recorded::Trial(unknown.clone()), Some(StartChoice::RollBack(unknown))),
        ];
        let files = [FoundFile::Unusable, FoundFile::Valid(FILE), FoundFile::Valid(8)];
        for (trial, by_trial) in trials {
            for rejected in [Recorded::Nothing, Recorded::Damaged, Recorded::Trial(over.clone())] {
                for file in files {
                    let by_rejection = match (&rejected, file) {
                        (Recorded::Nothing, _) => StartChoice::TakeFile,
                        (Recorded::Damaged, _) => StartChoice::RollBack(TrialHead::damaged()),
                        (Recorded::Trial(_), FoundFile::Valid(8)) => StartChoice::TakeChangedFile,
                        (Recorded::Trial(head), _) => StartChoice::StayRolledBack(head.clone()),
                    };
                    let expected = by_trial.clone().unwrap_or(by_rejection);
                    let found = at_start(trial.clone(), rejected.clone(), boot, || file);
                    assert_eq!(found, expected, "{trial:?}, {rejected:?}, {file:?}");
                }
            }
        }
    }
}
