//! The messages about a list that is not accepted: the list, the reason, the targets in force instead, and
//! the command that accepts it. The daemon reports the present state, and `check` reports what would happen.

use std::path::Path;

use super::file::FileError;
use super::limits::Doubt;
use crate::blocklist::Accepted;
use crate::text::{Explain, Explanation, date, printable};

/// The reason why a list is not accepted.
pub enum Why<'a> {
    /// The file cannot be read.
    Error(&'a FileError),
    /// The counts raise this doubt. The text describes the file.
    Doubt(Doubt, &'a str),
    /// The list was not fetched so far.
    Awaited,
}

/// The targets that are in force instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
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
pub enum Mood {
    /// The message states the present state.
    Is,
    /// The message states the state that would follow.
    Would,
}

/// The whole message with its remedy.
#[must_use]
pub fn explain(name: &str, path: &Path, why: &Why<'_>, instead: Instead, mood: Mood) -> Explanation {
    let cause = match why {
        Why::Error(error) => error.to_string(),
        Why::Doubt(doubt, looks) => format!("{} {doubt}{looks}", printable::path(path)),
        Why::Awaited => format!("nothing has been fetched from {} yet", printable::path(path)),
    };
    let message = format!("list \"{name}\" {}: {cause}\n{}", state(instead, mood), in_force(instead, mood));
    let remedy =
        if is_fetched(path) { remedy_fetched(name, path, why, mood) } else { remedy(name, why, mood) };
    Explanation::new(message, remedy + look_after(instead, mood))
}

/// A prediction for a client that asks a running filterd about a reload. The remedy is the same as after the
/// reload.
#[must_use]
pub fn foretell(name: &str, path: &Path, why: &Why<'_>, instead: Instead) -> Explanation {
    let Explanation { message, .. } = explain(name, path, why, instead, Mood::Would);
    Explanation { message, ..explain(name, path, why, instead, Mood::Is) }
}

/// Extends the message for a list that changes between allowing and blocking: until it is accepted, it keeps
/// its earlier meaning.
#[must_use]
pub fn still(told: Explanation, allowed: bool, mood: Mood) -> Explanation {
    let (done, then) = if allowed { ("allowed", "blocks") } else { ("blocked", "allows") };
    let are_still = match mood {
        Mood::Is => "are still",
        Mood::Would => "would still be",
    };
    let more = format!("\nits entries {are_still} {done}: it {then} only once its file is accepted");
    Explanation { message: told.message + &more, ..told }
}

impl From<&Accepted> for Instead {
    fn from(accepted: &Accepted) -> Self {
        Self::Good(accepted.entries, accepted.at.secs())
    }
}

impl Instead {
    /// The state if this many targets of a copy are used under the present settings of the list.
    #[must_use]
    pub fn of(accepted: &Accepted, taken: u64) -> Self {
        let Accepted { entries, at, .. } = accepted;
        if taken < *entries { Self::Fewer(taken, *entries, at.secs()) } else { Self::from(accepted) }
    }
}

fn state(instead: Instead, mood: Mood) -> &'static str {
    match (instead, mood) {
        (Instead::Good(..) | Instead::Fewer(..) | Instead::Stays(_) | Instead::Hidden, Mood::Is) => {
            "was not updated"
        }
        (Instead::Good(..) | Instead::Fewer(..) | Instead::Stays(_) | Instead::Hidden, Mood::Would) => {
            "would not be updated"
        }
        (Instead::Part(_), Mood::Is) => "is only partly in force",
        (Instead::Part(_), Mood::Would) => "would be only partly in force",
        (Instead::Damaged | Instead::Lost | Instead::Nothing, Mood::Is) => "is not loaded",
        (Instead::Damaged | Instead::Lost | Instead::Nothing, Mood::Would) => "would not be loaded",
    }
}

fn in_force(instead: Instead, mood: Mood) -> String {
    let would = if mood == Mood::Would { "would " } else { "" };
    let remain = |count| if count == 1 && mood == Mood::Is { "remains" } else { "remain" };
    let are = |count| are(count, mood);
    match instead {
        Instead::Good(0, at) => format!("it {would}{} empty, as on {}", remain(1), date::utc(at)),
        Instead::Good(count, at) => {
            format!("the {} read on {} {would}{} in force", targets(count), date::utc(at), remain(count))
        }
        Instead::Fewer(taken, count, at) => format!(
            "of the {} read on {}, {taken} {would}{} in force: the others do not fit the list's settings any more",
            targets(count),
            date::utc(at),
            remain(taken)
        ),
        Instead::Stays(count) => {
            format!("the {} that were read before {would}{} in force", targets(count), remain(count))
        }
        Instead::Part(count) => format!(
            "there is no good copy, so only the {} that could be read {} in force",
            targets(count),
            are(count)
        ),
        Instead::Damaged => {
            format!("its copy is damaged and ignored, so none of it {} in force", are(1))
        }
        Instead::Lost => format!(
            "a damaged copy, which may be of this list, is ignored, so none of it {} in force",
            are(1)
        ),
        Instead::Nothing => format!("there is no good copy, so none of it {} in force", are(1)),
        Instead::Hidden => format!("its last good version, if there is one, {would}{} in force", remain(1)),
    }
}

const fn are(count: u64, mood: Mood) -> &'static str {
    match (mood, count) {
        (Mood::Would, _) => "would be",
        (Mood::Is, 1) => "is",
        (Mood::Is, _) => "are",
    }
}

/// Additional advice if a copy is damaged.
const fn look_after(instead: Instead, mood: Mood) -> &'static str {
    match (instead, mood) {
        (Instead::Damaged | Instead::Lost, Mood::Is) => {
            "\ncheck the disk of the state directory: the log names the copy"
        }
        (Instead::Damaged | Instead::Lost, Mood::Would) => "\ncheck the disk of the state directory",
        _ => "",
    }
}

/// True if the list is named by its URL. The path of a file never begins like one.
fn is_fetched(path: &Path) -> bool {
    path.to_str().is_some_and(|path| ["http://", "https://"].iter().any(|scheme| path.starts_with(scheme)))
}

/// The remedy for a fetched list, which cannot be fixed on this host.
fn remedy_fetched(name: &str, path: &Path, why: &Why<'_>, mood: Mood) -> String {
    let again = match mood {
        Mood::Is => {
            format!("filterd retries by itself\nto retry now: filterd lists refresh {name}")
        }
        Mood::Would => look_at(path),
    };
    match why {
        Why::Awaited | Why::Error(FileError::Unreadable { .. }) => again,
        Why::Error(FileError::Unusable { remedy, .. }) => format!("{remedy}, then run `filterd check` again"),
        Why::Doubt(doubt, _) if !doubt.may_be_meant() && matches!(doubt, Doubt::NoList(_)) => again,
        Why::Doubt(Doubt::TooMany { .. }, _) | Why::Error(_) => remedy(name, why, mood),
        Why::Doubt(doubt, _) => {
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

fn remedy(name: &str, why: &Why<'_>, mood: Mood) -> String {
    let accept = format!("to accept it as it is: filterd reload --accept {name}");
    match (why, mood) {
        (Why::Doubt(Doubt::TooMany { .. }, _) | Why::Error(FileError::TooLarge { .. }), _) => {
            "if it is meant to be so long, raise its `max_entries` in the configuration, then run `filterd reload`"
                .to_owned()
        }
        (Why::Doubt(Doubt::TooFew { .. }, _), _) => {
            "if it is meant to be so short, lower its `min_entries` in the configuration, then run `filterd reload`"
                .to_owned()
        }
        (Why::Error(FileError::Missing { .. }), _) => {
            format!("to retry after restoring the file: filterd reload\n{accept}")
        }
        (Why::Error(error), _) => match error.remedy() {
            Some(remedy) => format!("{remedy}, then run `filterd reload`"),
            None => "to retry after fixing it: filterd reload".to_owned(),
        },
        (Why::Doubt(Doubt::Rejected { .. }, _), Mood::Is) => {
            format!("to see the lines: filterd check\nto retry after fixing the file: filterd reload\n{accept}")
        }
        (Why::Doubt(doubt, _), _) if !doubt.may_be_meant() => {
            "to retry after replacing the file with the list: filterd reload".to_owned()
        }
        (Why::Doubt(..) | Why::Awaited, _) => format!("to retry after fixing the file: filterd reload\n{accept}"),
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

    fn told(why: &Why<'_>, instead: Instead, mood: Mood) -> String {
        explain("drop", Path::new("drop.txt"), why, instead, mood).lines().collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_operator_learns_which_why_what_instead_and_the_word_to_say() {
        assert_eq!(
            told(&Why::Doubt(Doubt::Empty { before: 4 }, ""), Instead::Good(4, AT), Mood::Is),
            "list \"drop\" was not updated: drop.txt is empty, but had 4 targets before\nthe 4 targets read on 2026-11-21 21:28:00 UTC remain in force\nto retry after fixing the file: filterd reload\nto accept it as it is: filterd reload --accept drop"
        );
        let missing = FileError::Missing { path: "drop.txt".into() };
        assert_eq!(
            told(&Why::Error(&missing), Instead::Nothing, Mood::Is),
            "list \"drop\" is not loaded: drop.txt: there is no such file\nthere is no good copy, so none of it is in force\nto retry after restoring the file: filterd reload\nto accept it as it is: filterd reload --accept drop"
        );
        assert!(told(&Why::Error(&missing), Instead::Damaged, Mood::Is).contains(
            "list \"drop\" is not loaded: drop.txt: there is no such file\nits copy is damaged and ignored, so none of it is in force"
        ));
        let html = Why::Doubt(Doubt::Rejected { lines: 9, rejected: 9 }, ": it looks like HTML");
        assert!(told(&html, Instead::Part(1), Mood::Is).starts_with(
            "list \"drop\" is only partly in force: drop.txt has 9 lines, 9 of which were not understood: it looks like HTML\nthere is no good copy, so only the 1 target that could be read is in force\nto see the lines: filterd check"
        ));
    }

    #[test]
    fn what_would_be_so_is_told_as_that() {
        let missing = FileError::Missing { path: "drop.txt".into() };
        let why = Why::Error(&missing);
        for (instead, expected) in [
            (
                Instead::Good(1, AT),
                "would not be updated|the 1 target read on 2026-11-21 21:28:00 UTC would remain in force",
            ),
            (
                Instead::Good(0, AT),
                "would not be updated|it would remain empty, as on 2026-11-21 21:28:00 UTC",
            ),
            (
                Instead::Stays(2),
                "would not be updated|the 2 targets that were read before would remain in force",
            ),
            (
                Instead::Part(2),
                "would be only partly in force|so only the 2 targets that could be read would be in force",
            ),
            (Instead::Nothing, "would not be loaded|there is no good copy, so none of it would be in force"),
        ] {
            let told = told(&why, instead, Mood::Would);
            assert!(expected.split('|').all(|words| told.contains(words)), "{told}");
        }
        let rubbish = Why::Doubt(Doubt::Rejected { lines: 9, rejected: 9 }, "");
        assert!(!told(&rubbish, Instead::Nothing, Mood::Would).contains("`filterd check`"), "it is at it");
    }

    #[test]
    fn of_what_check_has_fetched_it_says_how_to_look_at_it() {
        let rubbish = Why::Doubt(Doubt::Rejected { lines: 9, rejected: 9 }, "");
        let told =
            |url: &str| explain("a", Path::new(url), &rubbish, Instead::Nothing, Mood::Would).to_string();
        assert!(told("https://a.example/x").contains("`curl -L https://a.example/x | head`"));
        assert!(!told("https://a.example/x?…").contains("curl"));
    }

    #[test]
    fn of_a_list_that_is_to_do_the_reverse_it_says_what_it_does_until_then() {
        let awaited =
            explain("a", Path::new("https://a.example/x"), &Why::Awaited, Instead::Good(3, AT), Mood::Is);
        assert_eq!(
            still(awaited, false, Mood::Is).lines().collect::<Vec<_>>().join("\n"),
            "list \"a\" was not updated: nothing has been fetched from https://a.example/x yet\nthe 3 targets read on 2026-11-21 21:28:00 UTC remain in force\nits entries are still blocked: it allows only once its file is accepted\nfilterd retries by itself\nto retry now: filterd lists refresh a"
        );
    }

    #[test]
    fn check_offers_the_remedy_of_a_failed_fetch() {
        let (path, why, remedy) =
            (PathBuf::from("https://a.example/x"), "no".to_owned(), "do this".to_owned());
        let error = FileError::Unusable { path: path.clone(), why, remedy };
        let told = explain("a", &path, &Why::Error(&error), Instead::Nothing, Mood::Would);
        assert_eq!(told.remedy.as_deref(), Some("do this, then run `filterd check` again"));
    }

    #[test]
    fn what_cannot_be_meant_is_not_offered() {
        let too_many = Why::Doubt(Doubt::TooMany { most: 5 }, "");
        let denied = FileError::Denied { path: "drop.txt".into() };
        let page = || Why::Doubt(Doubt::NoList(ErrorPage::Markup), "");
        for why in [too_many, Why::Error(&denied), page()] {
            assert!(!told(&why, Instead::Good(1, AT), Mood::Is).contains("--accept"));
        }
        let url = Path::new("https://a.example/x");
        let told = explain("a", url, &page(), Instead::Good(1, AT), Mood::Is).to_string();
        assert!(told.contains("filterd lists refresh a") && !told.contains("--accept"), "{told}");
    }
}
