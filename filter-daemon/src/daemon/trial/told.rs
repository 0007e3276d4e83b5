//! The messages about a trial: for `status`, for the operator, and for requests that must wait.

use super::{Trial, TrialRestart, TrialState};
use crate::clock;
use crate::control::wire::status::OnTrial;
use crate::control::wire::{About, Fault};
use crate::state::GenerationName;
use crate::text::{Explanation, date, printable};

/// Added while the record of a trial is missing.
const UNNOTED: &str =
    "; its record is missing in the state directory, so a restart before then does not roll back";

/// The remedy while a trial is on.
const ENDS: &str = "to roll back now: filterd rollback\nuntil then other reloads are refused";

/// The remedy after a start lost a trial.
const DECIDE: &str = "check what is in force (`filterd list`, `filterd lists`)\nto keep it: filterd reload";

/// The message for a trial whose record this start did not find.
pub fn lost(by: &str, was_rolled_back: bool) -> Explanation {
    let by = printable::on_one_line(by);
    let what = match was_rolled_back {
        true => "had not been confirmed, and was rolled back",
        false => "was on trial",
    };
    let message = format!(
        "a reload of {by} {what} when filterd last ended, but its record is missing in the state directory: nothing is rolled back, and the current configuration and lists are in force"
    );
    Explanation::new(message, DECIDE)
}

/// The message for a rollback that this start could not perform.
pub fn cannot_be_put_back(by: &str, why: &Explanation) -> Explanation {
    let message = format!(
        "a reload of {} was not confirmed, but the rollback failed: {}\nthe current configuration and lists are in force",
        printable::on_one_line(by),
        why.message
    );
    Explanation::new(message, DECIDE)
}

impl Trial {
    /// The trial as `status` reports it.
    pub fn status(&self) -> Option<OnTrial> {
        let TrialState::On { head, since, until, .. } = &self.state else { return None };
        Some(OnTrial {
            since: clock::on_the_wall(*since),
            until: clock::on_the_wall(*until),
            by: head.by.clone(),
        })
    }

    /// The end of a trial that is on, in seconds since 1970.
    pub fn until(&self) -> Option<u64> {
        self.status().map(|trial| trial.until)
    }

    /// The fault to show an operator. A rollback itself is a fault of the configuration instead.
    pub fn fault(&self) -> Option<Fault> {
        let (since, message, remedy) = match &self.state {
            TrialState::On { head, since, until, restart, .. } => {
                let (until, by) = (date::utc(clock::on_the_wall(*until)), printable::on_one_line(&head.by));
                let (now, remedy) = match restart {
                    None => ("", "to keep it: filterd confirm"),
                    Some(TrialRestart::AsRead) => (
                        "; filterd has restarted since, so the configuration and lists of that start are on trial",
                        "to keep the configuration and lists of that start: filterd confirm",
                    ),
                    Some(TrialRestart::ListsOnly) => (
                        "; filterd has restarted since with an invalid configuration: the one from before the trial is in force, with the lists of that start",
                        "to keep that and drop the trial: filterd confirm\nfix the file before you try it again",
                    ),
                };
                let unnoted = if self.store.has(GenerationName::Trial) { "" } else { UNNOTED };
                let message =
                    format!("a reload of {by} is on trial until {until}, then rolled back{now}{unnoted}");
                (since, message, format!("{remedy}\n{ENDS}"))
            }
            TrialState::Over { since, refused: None, .. } => {
                let message = "the configuration was not confirmed and is being rolled back";
                (
                    since,
                    message.to_owned(),
                    "the earlier configuration will be in force in a moment".to_owned(),
                )
            }
            TrialState::Over { since, refused: Some((_, why)), .. } => {
                let message =
                    format!("the configuration was not confirmed, but the rollback failed: {}", why.message);
                let remedy =
                    "filterd retries every 5 s, and a restart rolls back too\nto retry now: filterd rollback";
                (since, message, remedy.to_owned())
            }
            TrialState::Lost { since, told } => {
                return Some(Fault {
                    about: About::Configuration,
                    since: clock::on_the_wall(*since),
                    told: told.clone(),
                    id: None,
                });
            }
            TrialState::None | TrialState::Confirmed | TrialState::RolledBack { .. } => {
                let (told, since) = (self.unnoted()?, self.owed.as_ref()?.since);
                return Some(Fault {
                    about: About::Configuration,
                    since: clock::on_the_wall(since),
                    told,
                    id: None,
                });
            }
        };
        let told = Explanation::new(message, remedy);
        Some(Fault { about: About::Configuration, since: clock::on_the_wall(*since), told, id: None })
    }

    /// Why neither another configuration nor another filterd is accepted now.
    pub fn refusal(&self) -> Option<Explanation> {
        let TrialState::On { head, until, .. } = &self.state else {
            let message = match &self.state {
                TrialState::Over { .. } => "an unconfirmed reload is being rolled back",
                TrialState::Confirmed => "a reload was confirmed and its copies are being written",
                TrialState::On { .. }
                | TrialState::None
                | TrialState::RolledBack { .. }
                | TrialState::Lost { .. } => {
                    return None;
                }
            };
            return Some(Explanation::new(message, "try again in a moment"));
        };
        let (until, by) = (date::utc(clock::on_the_wall(*until)), printable::on_one_line(&head.by));
        let message = format!("a reload of {by} is on trial until {until}");
        Some(Explanation::new(message, "to keep it: filterd confirm\nto roll back now: filterd rollback"))
    }
}
