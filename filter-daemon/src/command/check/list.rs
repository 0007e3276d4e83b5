//! Checks one list of a configuration, and predicts whether the daemon would accept it.

use std::path::PathBuf;

use nix::unistd::geteuid;
use serde::Serialize;

use super::MOST_TOLD;
use super::fetching::Fetching;
use super::known::{EarlierList, EarlierLists};
use crate::accounts;
use crate::clock;
use crate::config::ListConfig;
use crate::source::file::FileError;
use crate::source::limits::{ListVerdict, SourceFinding};
use crate::source::patience::TimedReader;
use crate::source::trouble::{HoldBackReason, ListFallback, Phrasing, explain, still};
use crate::source::{ListFile, database, list, well_known};
use crate::text::{Explain, Explanation, printable};

/// The findings about one list.
#[derive(Debug, Serialize)]
pub struct CheckedList {
    pub name: String,
    pub path: PathBuf,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// The ports on which it blocks, unless it blocks on all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    pub targets: usize,
    pub rejected: u64,
    pub special: u64,
    /// The format as which it was read, empty if it could not be read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// Files of a folder that were not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Why the list would differ from its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What would be in force instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_be: Option<RejectionEffect>,
    /// The full explanation of the difference.
    #[serde(skip)]
    pub told: Option<Explanation>,
    /// Entries that many hosts need.
    #[serde(skip)]
    pub well_known: Option<String>,
    /// Remarks about the database that its entries come from.
    #[serde(skip)]
    pub remarks: Vec<String>,
    /// Lines that are not valid.
    #[serde(skip)]
    pub lines: Vec<String>,
}

/// The result for a list that the daemon would not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectionEffect {
    /// The last good copy would stay in force.
    HeldBack,
    /// The readable part would be in force.
    InPart,
    /// Nothing of it would be in force.
    NotLoaded,
    /// filterd would not start with it.
    Refused,
}

type ListRead = Result<ListFile, FileError>;

impl CheckedList {
    /// Reads `list`, and judges it as a daemon would.
    pub fn new(
        list: &ListConfig,
        known: &EarlierLists,
        patience: &mut TimedReader<ListRead>,
        fetching: &mut Fetching,
    ) -> Self {
        let (limits, how, path) = (list.limits, list.how.clone(), list.path.clone());
        let read = match (&list.feed, how.database.clone()) {
            (Some(feed), _) => fetching.read(list, feed),
            (None, Some(database)) => {
                let read = move |progress| database::list(&database, &limits, &how, None, &progress);
                patience.read(&list.path, read).flatten()
            }
            (None, None) => {
                let read = move |progress| list::read(&path, &limits, &how, progress);
                patience.read(&list.path, read).flatten()
            }
        };
        let doubted = doubt(list, &read, known.before(list), known);
        let file = read.as_ref().ok();
        Self {
            name: list.name.to_string(),
            path: list.path.clone(),
            allows: list.allows,
            ports: list.ports.map(|clause| clause.to_string()),
            targets: file.map_or(0, |file| file.targets.len()),
            rejected: file.map_or(0, |file| file.rejected_count),
            special: file.map_or(0, |file| file.special),
            format: file.map(|file| file.format.name().to_owned()).unwrap_or_default(),
            left_out: file.map(|file| file.left_out.clone()).unwrap_or_default(),
            well_known: file
                .filter(|_| !list.allows)
                .and_then(|file| well_known::told(&format!("list \"{}\"", list.name), &file.targets)),
            remarks: file.map_or_else(Vec::new, |file| {
                file.remarks.told(list.name.as_str(), clock::on_the_wall(clock::now()))
            }),
            lines: file.map_or_else(Vec::new, |file| {
                file.rejected.iter().take(MOST_TOLD).map(ToString::to_string).collect()
            }),
            error: doubted.as_ref().map(|doubted| doubted.error.clone()),
            would_be: doubted.as_ref().map(|doubted| doubted.fate),
            told: doubted.map(|doubted| doubted.told),
        }
    }
}

/// A list that would not be accepted as it is.
struct DoubtedList {
    error: String,
    fate: RejectionEffect,
    told: Explanation,
}

fn doubt(
    list: &ListConfig,
    read: &ListRead,
    before: EarlierList<'_>,
    known: &EarlierLists,
) -> Option<DoubtedList> {
    let seen = match read {
        Ok(file) => file.seen(),
        Err(FileError::Missing { .. }) => SourceFinding::Missing,
        Err(_) => SourceFinding::Unreadable,
    };
    let is_meant = seen == SourceFinding::Missing
        && matches!(before, EarlierList::Copy(copy) if copy.may_be_missing(&list.path));
    let (doubt, instead) = match list.limits.judge(seen, known.size_of(list, before), is_meant) {
        ListVerdict::Accept => return None,
        ListVerdict::HoldBack(doubt) => (doubt, known.instead(before)),
        ListVerdict::TakePart(doubt) => {
            let count = read.as_ref().map_or(0, |file| file.targets.len() as u64);
            (
                doubt,
                if let EarlierList::Hidden = before {
                    ListFallback::Hidden
                } else {
                    ListFallback::Part(count)
                },
            )
        }
    };
    // A damaged copy counts as missing, as at a start.
    if let (EarlierList::Copy(copy), ListFallback::Good(..)) = (before, instead)
        && !known.is_good(copy)
    {
        return self::doubt(list, read, known.without_copy(list), known);
    }
    let looks = read.as_ref().map(|file| file.described(doubt, list.feed.is_some()));
    let why = match (read, &looks) {
        (Err(error), _) => HoldBackReason::Error(error),
        (Ok(_), looks) => HoldBackReason::Doubt(doubt, looks.as_deref().unwrap_or_default()),
    };
    let (name, path) = (list.name.as_str(), &list.path);
    let error = match read {
        Ok(_) => format!("{} {doubt}{}", printable::path(path), looks.as_deref().unwrap_or_default()),
        Err(error) => error.to_string(),
    };
    let fate = match (instead, read) {
        (
            ListFallback::Nothing | ListFallback::Damaged | ListFallback::Lost | ListFallback::Hidden,
            Err(FileError::Denied { .. }),
        ) => RejectionEffect::Refused,
        (
            ListFallback::Good(..) | ListFallback::Fewer(..) | ListFallback::Stays(_) | ListFallback::Hidden,
            _,
        ) => RejectionEffect::HeldBack,
        (ListFallback::Part(_), _) => RejectionEffect::InPart,
        (ListFallback::Nothing | ListFallback::Damaged | ListFallback::Lost, _) => RejectionEffect::NotLoaded,
    };
    let told = match (fate, read) {
        (RejectionEffect::Refused, Err(error)) => refused(name, error, instead),
        _ => explain(name, path, &why, instead, Phrasing::Would),
    };
    let stays = fate == RejectionEffect::HeldBack && before.entries() > Some(0);
    let told = match before.allows().filter(|allowed| *allowed != list.allows && stays) {
        Some(allowed) => still(told, allowed, Phrasing::Would),
        None => told,
    };
    Some(DoubtedList { error, fate, told })
}

/// The explanation for a list without which filterd would not start.
fn refused(name: &str, error: &FileError, instead: ListFallback) -> Explanation {
    let user = accounts::name_of(geteuid());
    let [unless, copy] = if instead == ListFallback::Hidden {
        [", unless there is a good copy", ""]
    } else {
        ["", "; there is no good copy"]
    };
    let message =
        format!("filterd, as user {user}, would not start because of list \"{name}\"{unless}: {error}{copy}");
    Explanation { message, remedy: error.remedy() }
}
