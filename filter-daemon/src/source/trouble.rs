//! The messages about a list that is not accepted: the list, the reason, the targets in force instead, and
//! the command that accepts it. The daemon reports the present state, and `check` reports what would happen.

use std::path::Path;

use super::file::FileError;
use super::limits::Doubt;
use crate::source::reading::AcceptedSource;
use crate::text::{Explain, Explanation, date, printable};

/// The reason why a list is not accepted.
pub enum HoldBackReason<'a> {
    /// The file cannot be read.
    Error(&'a FileError),
    /// The counts raise this doubt. The text describes the file.
    Doubt(Doubt, &'a str),
    /// The list was not fetched so far.
    Awaited,
}

/// The targets that are in force instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFallback {
    /// The number of targets, and when they were accepted, in seconds since 1970.
    Good(u64, u64),
    /// How many of the targets accepted at that time remain under the present settings of the list:
    /// (remaining, all, time).
    Fewer(u64, u64, u64),
    /// The number of targets that could be read before.
    Stays(u64),
    /// The number of targets that could be read now.
    Part(u64),
    /// None, because the copy is damaged.
    Damaged,
    /// None. A copy whose header is damaged may have been this list's.
    Lost,
    /// No targets at all.
    Nothing,
    /// The earlier good version, of which this caller may see nothing.
    Hidden,
}

/// Whether a message states a fact or a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phrasing {
    /// The message states the present state.
    Is,
    /// The message states the state that would follow.
    Would,
}

/// The whole message with its remedy.
#[must_use]
pub fn explain(
    name: &str,
    path: &Path,
    why: &HoldBackReason<'_>,
    instead: ListFallback,
    mood: Phrasing,
) -> Explanation {
    let cause = match why {
        HoldBackReason::Error(error) => error.to_string(),
        HoldBackReason::Doubt(doubt, looks) => format!("{} {doubt}{looks}", printable::path(path)),
        HoldBackReason::Awaited => format!("nothing has been fetched from {} yet", printable::path(path)),
    };
    let message = format!("list \"{name}\" {}: {cause}\n{}", state(instead, mood), in_force(instead, mood));
    let remedy =
        if is_fetched(path) { remedy_fetched(name, path, why, mood) } else { remedy(name, why, mood) };
    Explanation::new(message, remedy + look_after(instead, mood))
}

/// A prediction for a client that asks a running filterd about a reload. The remedy is the same as after the
/// reload.
#[must_use]
pub fn foretell(name: &str, path: &Path, why: &HoldBackReason<'_>, instead: ListFallback) -> Explanation {
    let Explanation { message, .. } = explain(name, path, why, instead, Phrasing::Would);
    Explanation { message, ..explain(name, path, why, instead, Phrasing::Is) }
}

/// Extends the message for a list that changes between allowing and blocking: until it is accepted, it keeps
/// its earlier meaning.
#[must_use]
pub fn still(told: Explanation, allowed: bool, mood: Phrasing) -> Explanation {
    let (done, then) = if allowed { ("allowed", "blocks") } else { ("blocked", "allows") };
    let are_still = match mood {
        Phrasing::Is => "are still",
        Phrasing::Would => "would still be",
    };
    let more = format!("\nits entries {are_still} {done}: it {then} only once its file is accepted");
    Explanation { message: told.message + &more, ..told }
}

impl From<&AcceptedSource> for ListFallback {
    fn from(accepted: &AcceptedSource) -> Self {
        Self::Good(accepted.entries, accepted.at.secs())
    }
}

impl ListFallback {
    /// The state if this many targets of a copy are used under the present settings of the list.
    #[must_use]
    pub fn of(accepted: &AcceptedSource, taken: u64) -> Self {
        let AcceptedSource { entries, at, .. } = accepted;
        if taken < *entries { Self::Fewer(taken, *entries, at.secs()) } else { Self::from(accepted) }
    }
}

fn state(instead: ListFallback, mood: Phrasing) -> &'static str {
    match (instead, mood) {
        (
            ListFallback::Good(..) | ListFallback::Fewer(..) | ListFallback::Stays(_) | ListFallback::Hidden,
            Phrasing::Is,
        ) => "was not updated",
        (
            ListFallback::Good(..) | ListFallback::Fewer(..) | ListFallback::Stays(_) | ListFallback::Hidden,
            Phrasing::Would,
        ) => "would not be updated",
        (ListFallback::Part(_), Phrasing::Is) => "is only partly in force",
        (ListFallback::Part(_), Phrasing::Would) => "would be only partly in force",
        (ListFallback::Damaged | ListFallback::Lost | ListFallback::Nothing, Phrasing::Is) => "is not loaded",
        (ListFallback::Damaged | ListFallback::Lost | ListFallback::Nothing, Phrasing::Would) => {
            "would not be loaded"
        }
    }
}

fn in_force(instead: ListFallback, mood: Phrasing) -> String {
    let would = if mood == Phrasing::Would { "would " } else { "" };
    let remain = |count| if count == 1 && mood == Phrasing::Is { "remains" } else { "remain" };
    let are = |count| are(count, mood);
    match instead {
        ListFallback::Good(0, at) => format!("it {would}{} empty, as on {}", remain(1), date::utc(at)),
        ListFallback::Good(count, at) => {
            format!("the {} read on {} {would}{} in force", targets(count), date::utc(at), remain(count))
        }
        ListFallback::Fewer(taken, count, at) => format!(
            "of the {} read on {}, {taken} {would}{} in force: the others do not fit the list's settings any more",
            targets(count),
            date::utc(at),
            remain(taken)
        ),
        ListFallback::Stays(count) => {
            format!("the {} that were read before {would}{} in force", targets(count), remain(count))
        }
        ListFallback::Part(count) => format!(
            "there is no good copy, so only the {} that could be read {} in force",
            targets(count),
            are(count)
        ),
        ListFallback::Damaged => {
            format!("its copy is damaged and ignored, so none of it {} in force", are(1))
        }
        ListFallback::Lost => format!(
            "a damaged copy, which may be of this list, is ignored, so none of it {} in force",
            are(1)
        ),
        ListFallback::Nothing => format!("there is no good copy, so none of it {} in force", are(1)),
        ListFallback::Hidden => {
            format!("its last good version, if there is one, {would}{} in force", remain(1))
        }
    }
}

const fn are(count: u64, mood: Phrasing) -> &'static str {
    match (mood, count) {
        (Phrasing::Would, _) => "would be",
        (Phrasing::Is, 1) => "is",
        (Phrasing::Is, _) => "are",
    }
}

/// Additional advice if a copy is damaged.
const fn look_after(instead: ListFallback, mood: Phrasing) -> &'static str {
    match (instead, mood) {
        (ListFallback::Damaged | ListFallback::Lost, Phrasing::Is) => {
            "\ncheck the disk of the state directory: the log names the copy"
        }
        (ListFallback::Damaged | ListFallback::Lost, Phrasing::Would) => {
            "\ncheck the disk of the state directory"
        }
        _ => "",
    }
}

/// True if the list is named by its URL. The path of a file never begins like one.
fn is_fetched(path: &Path) -> bool {
    path.to_str().is_some_and(|path| ["http://", "https://"].iter().any(|scheme| path.starts_with(scheme)))
}

/// The remedy for a fetched list, which cannot be fixed on this host.
fn remedy_fetched(name: &str, path: &Path, why: &HoldBackReason<'_>, mood: Phrasing) -> String {
    let again = match mood {
        Phrasing::Is => {
            format!("filterd retries by itself\nto retry now: filterd lists refresh {name}")
        }
        Phrasing::Would => look_at(path),
    };
    match why {
        HoldBackReason::Awaited | HoldBackReason::Error(FileError::Unreadable { .. }) => again,
        HoldBackReason::Error(FileError::Unusable { remedy, .. }) => {
            format!("{remedy}, then run `filterd check` again")
        }
        HoldBackReason::Doubt(doubt, _) if !doubt.may_be_meant() && matches!(doubt, Doubt::NoList(_)) => {
            again
        }
        HoldBackReason::Doubt(Doubt::TooMany { .. }, _) | HoldBackReason::Error(_) => remedy(name, why, mood),
        HoldBackReason::Doubt(doubt, _) => {
            let says = if *doubt == Doubt::NeverFilled {
                "\nto accept it always: set `min_entries: 0` on the list"
            } else {
                ""
            };
            format!("{again}\nto accept it as it is: filterd reload --accept {name}{says}")
        }
    }
}

/// Advice on how to see the server's reply. A URL that hides a secret cannot be shown as a command.
fn look_at(path: &Path) -> String {
    let url = printable::path(path).to_string();
    if url.contains('?') {
        return "check what its server sends, then run `filterd check` again".to_owned();
    }
    format!("check what its server sends (`curl -L {url} | head`), then run `filterd check` again")
}

fn remedy(name: &str, why: &HoldBackReason<'_>, mood: Phrasing) -> String {
    let accept = format!("to accept it as it is: filterd reload --accept {name}");
    match (why, mood) {
        (HoldBackReason::Doubt(Doubt::TooMany { .. }, _) | HoldBackReason::Error(FileError::TooLarge { .. }), _) => {
            "if it is meant to be so long, raise its `max_entries` in the configuration, then run `filterd reload`"
                .to_owned()
        }
        (HoldBackReason::Doubt(Doubt::TooFew { .. }, _), _) => {
            "if it is meant to be so short, lower its `min_entries` in the configuration, then run `filterd reload`"
                .to_owned()
        }
        (HoldBackReason::Doubt(Doubt::NothingChosen { .. }, _), _) => format!(
            "to retry after correcting `country` or `asn`: filterd reload\n{accept}\nto accept it always: set `min_entries: 0` on the list"
        ),
        (HoldBackReason::Error(FileError::Missing { .. }), _) => {
            format!("to retry after restoring the file: filterd reload\n{accept}")
        }
        (HoldBackReason::Error(error), _) => match error.remedy() {
            Some(remedy) => format!("{remedy}, then run `filterd reload`"),
            None => "to retry after fixing it: filterd reload".to_owned(),
        },
        (HoldBackReason::Doubt(Doubt::Rejected { .. }, _), Phrasing::Is) => {
            format!("to see the lines: filterd check\nto retry after fixing the file: filterd reload\n{accept}")
        }
        (HoldBackReason::Doubt(doubt, _), _) if !doubt.may_be_meant() => {
            "to retry after replacing the file with the list: filterd reload".to_owned()
        }
        (HoldBackReason::Doubt(..) | HoldBackReason::Awaited, _) => format!("to retry after fixing the file: filterd reload\n{accept}"),
    }
}

fn targets(count: u64) -> String {
    if count == 1 { "1 target".to_owned() } else { format!("{count} targets") }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::source::ErrorPage;

    const AT: u64 = 1_795_296_480;

    fn told(why: &HoldBackReason<'_>, instead: ListFallback, mood: Phrasing) -> String {
        explain("drop", Path::new("drop.txt"), why, instead, mood).lines().collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn message_has_list_reason_state_and_command() {
        assert_eq!(
            told(
                &HoldBackReason::Doubt(Doubt::Empty { before: 4 }, ""),
                ListFallback::Good(4, AT),
                Phrasing::Is
            ),
            "list \"drop\" was not updated: drop.txt is empty, but had 4 targets before\nthe 4 targets read on 2026-11-21 21:28:00 UTC remain in force\nto retry after fixing the file: filterd reload\nto accept it as it is: filterd reload --accept drop"
        );
        let missing = FileError::Missing { path: "drop.txt".into() };
        assert_eq!(
            told(&HoldBackReason::Error(&missing), ListFallback::Nothing, Phrasing::Is),
            "list \"drop\" is not loaded: drop.txt: there is no such file\nthere is no good copy, so none of it is in force\nto retry after restoring the file: filterd reload\nto accept it as it is: filterd reload --accept drop"
        );
        assert!(told(&HoldBackReason::Error(&missing), ListFallback::Damaged, Phrasing::Is).contains(
            "list \"drop\" is not loaded: drop.txt: there is no such file\nits copy is damaged and ignored, so none of it is in force"
        ));
        let html = HoldBackReason::Doubt(Doubt::Rejected { lines: 9, rejected: 9 }, ": it looks like HTML");
        assert!(told(&html, ListFallback::Part(1), Phrasing::Is).starts_with(
            "list \"drop\" is only partly in force: drop.txt has 9 lines, 9 of which were not understood: it looks like HTML\nthere is no good copy, so only the 1 target that could be read is in force\nto see the lines: filterd check"
        ));
    }

    #[test]
    fn choice_of_nothing_is_corrected_or_accepted() {
        let why = HoldBackReason::Doubt(
            Doubt::NothingChosen { before: 3 },
            "; its database (GeoLite2-Country) has no network of DE",
        );
        assert_eq!(
            told(&why, ListFallback::Good(3, AT), Phrasing::Is),
            "list \"drop\" was not updated: drop.txt has nothing for this list, which had 3 targets before; its database (GeoLite2-Country) has no network of DE\nthe 3 targets read on 2026-11-21 21:28:00 UTC remain in force\nto retry after correcting `country` or `asn`: filterd reload\nto accept it as it is: filterd reload --accept drop\nto accept it always: set `min_entries: 0` on the list"
        );
    }

    #[test]
    fn predictions_use_the_conditional() {
        let missing = FileError::Missing { path: "drop.txt".into() };
        let why = HoldBackReason::Error(&missing);
        for (instead, expected) in [
            (
                ListFallback::Good(1, AT),
                "would not be updated|the 1 target read on 2026-11-21 21:28:00 UTC would remain in force",
            ),
            (
                ListFallback::Good(0, AT),
                "would not be updated|it would remain empty, as on 2026-11-21 21:28:00 UTC",
            ),
            (
                ListFallback::Stays(2),
                "would not be updated|the 2 targets that were read before would remain in force",
            ),
            (
                ListFallback::Part(2),
                "would be only partly in force|so only the 2 targets that could be read would be in force",
            ),
            (
                ListFallback::Nothing,
                "would not be loaded|there is no good copy, so none of it would be in force",
            ),
        ] {
            let told = told(&why, instead, Phrasing::Would);
            assert!(expected.split('|').all(|words| told.contains(words)), "{told}");
        }
        let rubbish = HoldBackReason::Doubt(Doubt::Rejected { lines: 9, rejected: 9 }, "");
        assert!(
            !told(&rubbish, ListFallback::Nothing, Phrasing::Would).contains("`filterd check`"),
            "it is at it"
        );
    }

    #[test]
    fn check_shows_how_to_inspect_a_feed() {
        let rubbish = HoldBackReason::Doubt(Doubt::Rejected { lines: 9, rejected: 9 }, "");
        let told = |url: &str| {
            explain("a", Path::new(url), &rubbish, ListFallback::Nothing, Phrasing::Would).to_string()
        };
        assert!(told("https://a.example/x").contains("`curl -L https://a.example/x | head`"));
        assert!(!told("https://a.example/x?…").contains("curl"));
    }

    #[test]
    fn reversed_list_states_its_earlier_meaning() {
        let awaited = explain(
            "a",
            Path::new("https://a.example/x"),
            &HoldBackReason::Awaited,
            ListFallback::Good(3, AT),
            Phrasing::Is,
        );
        assert_eq!(
            still(awaited, false, Phrasing::Is).lines().collect::<Vec<_>>().join("\n"),
            "list \"a\" was not updated: nothing has been fetched from https://a.example/x yet\nthe 3 targets read on 2026-11-21 21:28:00 UTC remain in force\nits entries are still blocked: it allows only once its file is accepted\nfilterd retries by itself\nto retry now: filterd lists refresh a"
        );
    }

    #[test]
    fn check_offers_the_remedy_of_a_failed_fetch() {
        let (path, why, remedy) =
            (PathBuf::from("https://a.example/x"), "no".to_owned(), "do this".to_owned());
        let error = FileError::Unusable { path: path.clone(), why, remedy };
        let told =
            explain("a", &path, &HoldBackReason::Error(&error), ListFallback::Nothing, Phrasing::Would);
        assert_eq!(told.remedy.as_deref(), Some("do this, then run `filterd check` again"));
    }

    #[test]
    fn impossible_confirmations_are_not_offered() {
        let too_many = HoldBackReason::Doubt(Doubt::TooMany { most: 5 }, "");
        let denied = FileError::Denied { path: "drop.txt".into() };
        let page = || HoldBackReason::Doubt(Doubt::NoList(ErrorPage::Markup), "");
        for why in [too_many, HoldBackReason::Error(&denied), page()] {
            assert!(!told(&why, ListFallback::Good(1, AT), Phrasing::Is).contains("--accept"));
        }
        let url = Path::new("https://a.example/x");
        let told = explain("a", url, &page(), ListFallback::Good(1, AT), Phrasing::Is).to_string();
        assert!(told.contains("filterd lists refresh a") && !told.contains("--accept"), "{told}");
    }
}
