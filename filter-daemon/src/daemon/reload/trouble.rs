//! What the operator is told of a list that is not believed: which, why, what is in force instead, and the word to say.

use std::path::Path;

use tracing::{error, warn};

use crate::blocklist::Accepted;
use crate::control::wire::reload::Reply as Reloaded;
use crate::source::file::FileError;
use crate::source::limits::Doubt;
use crate::text::{Explain, Explanation, printable};

/// Why a list is not believed.
pub enum Why<'a> {
    /// It cannot be read.
    Error(&'a FileError),
    /// Its counts; and what it looks like.
    Doubt(Doubt, &'static str),
}

/// What is in force instead.
pub enum Instead<'a> {
    /// What was believed before.
    Good(&'a Accepted),
    /// So many targets that could be read before.
    Stays(u64),
    /// So many targets that could be read now.
    Part(u64),
    /// Nothing.
    Nothing,
}

/// All of it.
pub fn explain(name: &str, path: &Path, why: &Why<'_>, instead: &Instead<'_>) -> Explanation {
    let state = match instead {
        Instead::Good(_) | Instead::Stays(_) => "is held back",
        Instead::Part(_) => "is in force in part only",
        Instead::Nothing => "was never loaded",
    };
    let cause = match why {
        Why::Error(error) => error.to_string(),
        Why::Doubt(doubt, looks) => format!("{} {doubt}{looks}", printable::path(path)),
    };
    let message = format!("list {name} {state}: {cause}; {}", in_force(instead));
    Explanation::new(message, remedy(name, why))
}

/// Tells the log what a reload, or a start, found that the operator should know.
pub fn tell_log(reloaded: &Reloaded) {
    reloaded.warnings.iter().for_each(|warning| warn!("{warning}"));
    reloaded.held_back.iter().for_each(|held| error!("{}", held.told));
}

fn in_force(instead: &Instead<'_>) -> String {
    match instead {
        Instead::Good(accepted) if accepted.entries == 0 => {
            format!("it stays empty, as it was on {}", when(accepted))
        }
        Instead::Good(accepted) => {
            format!("its {} of {} stay in force", targets(accepted.entries), when(accepted))
        }
        Instead::Stays(entries) => {
            format!("the {} that could be read before stay in force", targets(*entries))
        }
        Instead::Part(entries) => {
            format!("there is no good copy, so the {} that could be read are in force", targets(*entries))
        }
        Instead::Nothing => "there is no good copy, so nothing of it is blocked".to_owned(),
    }
}

fn remedy(name: &str, why: &Why<'_>) -> String {
    let accept = format!("if this is meant: `filterd reload --accept {name}`");
    match why {
        Why::Doubt(Doubt::TooMany { .. }, _) | Why::Error(FileError::TooLarge { .. }) => {
            "if it is meant to be so long, raise its `max_entries` in the configuration, then `filterd reload`"
                .to_owned()
        }
        Why::Error(FileError::Missing { .. }) => {
            format!("put the file back, then `filterd reload`; {accept}")
        }
        Why::Error(error) => match error.remedy() {
            Some(remedy) => format!("{remedy}, then `filterd reload`"),
            None => "mend it, then `filterd reload`".to_owned(),
        },
        Why::Doubt(Doubt::Rejected { .. }, _) => {
            format!("`filterd check` shows the lines: mend the file, then `filterd reload`; {accept}")
        }
        Why::Doubt(..) => format!("mend the file, then `filterd reload`; {accept}"),
    }
}

fn targets(count: u64) -> String {
    if count == 1 { "1 target".to_owned() } else { format!("{count} targets") }
}

/// In the one zone that a log, a status and a person elsewhere have in common.
fn when(accepted: &Accepted) -> String {
    let second = i64::try_from(accepted.at.secs()).unwrap_or_default();
    let moment = jiff::Timestamp::from_second(second).unwrap_or_default();
    moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocklist::Timestamp;

    fn accepted(entries: u64) -> Accepted {
        Accepted {
            name: "drop".into(),
            path: "drop.txt".into(),
            stamp: None,
            at: Timestamp::from_secs(1_795_296_480),
            entries,
            rejected: 0,
            is_missing: false,
            bytes: 0,
            checksum: 0,
        }
    }

    fn told(why: &Why<'_>, instead: &Instead<'_>) -> String {
        explain("drop", Path::new("drop.txt"), why, instead).lines().collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_operator_learns_which_why_what_instead_and_the_word_to_say() {
        let good = accepted(4);
        assert_eq!(
            told(&Why::Doubt(Doubt::Empty { before: 4 }, ""), &Instead::Good(&good)),
            "list drop is held back: drop.txt is empty, and had 4 targets; \
             its 4 targets of 2026-11-21 21:28:00 UTC stay in force\n\
             mend the file, then `filterd reload`; if this is meant: `filterd reload --accept drop`"
        );
        let missing = FileError::Missing { path: "drop.txt".into() };
        assert_eq!(
            told(&Why::Error(&missing), &Instead::Nothing),
            "list drop was never loaded: drop.txt: there is no such file; \
             there is no good copy, so nothing of it is blocked\n\
             put the file back, then `filterd reload`; if this is meant: `filterd reload --accept drop`"
        );
        let html = Why::Doubt(Doubt::Rejected { lines: 9, rejected: 9 }, ": it looks like HTML");
        assert!(told(&html, &Instead::Part(1)).starts_with(
            "list drop is in force in part only: \
             drop.txt has 9 lines, and 9 of them were not understood: it looks like HTML; there is no good copy, \
             so the 1 target that could be read are in force\n`filterd check` shows"
        ));
    }

    #[test]
    fn what_cannot_be_meant_is_not_offered() {
        let too_many = Why::Doubt(Doubt::TooMany { most: 5 }, "");
        let denied = FileError::Denied { path: "drop.txt".into() };
        for why in [too_many, Why::Error(&denied)] {
            assert!(!told(&why, &Instead::Good(&accepted(1))).contains("--accept"));
        }
    }
}
