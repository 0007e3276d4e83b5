//! `filterd check`: would this configuration be taken? Asks no daemon.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::figure::{count, counted};
use crate::accounts::{self, User};
use crate::cli::{places, user};
use crate::config::{self, Config, Mode};
use crate::control::client::Endpoint;
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::source::file::FileError;
use crate::source::limits::{Seen, Verdict};
use crate::source::patience::Patience;
use crate::source::{Accepted, Copies, ListFile, list};
use crate::text::{Explain, Explanation, printable};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd check
  sudo filterd check --as filterd
  filterd check new.yaml && sudo cp new.yaml /etc/filterd/filterd.yaml && sudo filterd reload")]
pub struct Check {
    /// The configuration
    #[arg(value_name = "FILE", default_value = places::CONFIG)]
    file: PathBuf,
    /// Look with the eyes of this user: what may it not read?
    #[arg(long = "as", value_name = "USER", value_parser = user)]
    user: Option<User>,
    /// Where filterd keeps what must survive: lists are compared with their last good copies, if you may read these
    #[arg(long, value_name = "DIR", default_value = places::STATE)]
    state_dir: PathBuf,
}

/// More lines that were not understood than this are counted, not told.
const MOST_TOLD: usize = 10;

/// What was found.
#[derive(Debug, Serialize)]
struct Checked {
    file: PathBuf,
    valid: bool,
    held_back: usize,
    interfaces: Vec<String>,
    mode: &'static str,
    enforce: bool,
    block: usize,
    lists: Vec<CheckedList>,
}

/// What was found in one list.
#[derive(Debug, Serialize)]
struct CheckedList {
    name: String,
    path: PathBuf,
    targets: usize,
    rejected: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip)]
    told: Vec<String>,
    /// What lets us read it, if we may not.
    #[serde(skip)]
    mend: Option<String>,
}

impl Check {
    pub fn execute(&self, _: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        if let Some(user) = &self.user {
            become_user(user)?;
        }
        let config = config::load(&self.file).map_err(|error| refused(error.explain()))?;
        let checked = Checked::new(&self.file, &config, &Copies::of(&self.state_dir));
        console.answer(&checked, render)?;
        checked.lists.iter().for_each(|list| warn(list, console));
        let mut held_back = checked.lists.iter().filter_map(CheckedList::held_back).peekable();
        if held_back.peek().is_none() {
            return Ok(Exit::Done);
        }
        console.flush()?;
        held_back.for_each(|told| console.complain(&told));
        // With a list that it may not read, no filterd starts.
        let is_denied = checked.lists.iter().any(|list| list.mend.is_some());
        Ok(if is_denied { Exit::Config } else { Exit::Partly })
    }
}

/// This process has nothing else to do, so that it need not be itself again.
fn become_user(user: &User) -> Result<(), Trouble> {
    accounts::become_user(user).map_err(|error| {
        let told = format!("cannot look with the eyes of user {}: {error}", user.name);
        Trouble::Refused(Failure::PermissionDenied(Explanation::new(told, "use sudo")))
    })
}

fn refused(explanation: Explanation) -> Trouble {
    Trouble::Refused(Failure::InvalidConfig(explanation))
}

impl Checked {
    fn new(file: &Path, config: &Config, copies: &Copies) -> Self {
        let copies = copies.find().copies;
        let mut patience = Patience::default();
        let lists = config.lists.iter().map(|list| {
            let limits = list.limits;
            let path = list.path.clone();
            let read =
                patience.read(&list.path, move |progress| list::read(&path, &limits, progress)).flatten();
            let is_called = |copy: &&Accepted| *copy.name == *list.name.as_str();
            let is_there = |copy: &&Accepted| copy.path == list.path;
            let of_both = copies.iter().filter(is_called).find(is_there);
            let before = of_both.or(copies.iter().find(is_there)).or(copies.iter().find(is_called));
            CheckedList::new(list, read, before)
        });
        let lists: Vec<_> = lists.collect();
        Self {
            file: file.to_owned(),
            valid: true,
            held_back: lists.iter().filter(|list| list.error.is_some()).count(),
            interfaces: config.interfaces.clone(),
            mode: match config.mode {
                Mode::Auto => "auto",
                Mode::Native => "native",
                Mode::Generic => "generic",
            },
            enforce: config.enforce,
            block: config.block.len(),
            lists,
        }
    }
}

impl CheckedList {
    fn new(list: &config::List, read: Result<ListFile, FileError>, before: Option<&Accepted>) -> Self {
        let (name, path) = (list.name.to_string(), list.path.clone());
        let seen = match &read {
            Ok(file) => file.seen(),
            Err(FileError::Missing { .. }) => Seen::Missing,
            Err(_) => Seen::Unreadable,
        };
        let is_meant = seen == Seen::Missing && before.is_some_and(|before| before.is_missing);
        let doubt = match list.limits.judge(seen, before.map(|before| before.entries), is_meant) {
            Verdict::Accept => None,
            Verdict::HoldBack(doubt) | Verdict::TakePart(doubt) => Some(doubt),
        };
        let is_denied = matches!(read, Err(FileError::Denied { .. }));
        let (file, error, remedy) = match read {
            Ok(file) => (file, None, None),
            Err(error) => (ListFile::default(), Some(error.to_string()), error.remedy()),
        };
        let told =
            |doubt| error.unwrap_or_else(|| format!("{} {doubt}{}", printable::path(&path), file.looks));
        Self {
            error: doubt.map(told),
            name,
            targets: file.targets.len(),
            rejected: file.rejected_count,
            told: file.rejected.iter().take(MOST_TOLD).map(ToString::to_string).collect(),
            mend: remedy.filter(|_| is_denied),
            path,
        }
    }

    /// What a daemon would do.
    fn held_back(&self) -> Option<Explanation> {
        let error = self.error.as_ref()?;
        if let Some(mend) = &self.mend {
            let message = format!("list {}: {error}; filterd would not start without it", self.name);
            return Some(Explanation::new(message, mend));
        }
        let message = format!("list {} would be held back: {error}", self.name);
        let remedy = format!(
            "what was good before would stay in force; if this is meant: `filterd reload --accept {}`",
            self.name
        );
        Some(Explanation::new(message, remedy))
    }
}

fn render(checked: &Checked) -> String {
    let interfaces = match &checked.interfaces[..] {
        [] => "no interface (say where with --iface)".to_owned(),
        names => names.join(", "),
    };
    let drops = if checked.enforce { "" } else { ", only counting (`enforce: false`)" };
    let verdict = match checked.held_back as u64 {
        0 => "valid".to_owned(),
        lists => format!("valid, but {} would be held back", counted(lists, "list")),
    };
    let mut text = format!(
        "{} is {verdict}: {interfaces}, mode {}{drops}, {} blocked, {}\n",
        printable::path(&checked.file),
        checked.mode,
        counted(checked.block as u64, "target"),
        counted(checked.lists.len() as u64, "list"),
    );
    for list in &checked.lists {
        let found = match (&list.error, list.rejected) {
            (Some(_), _) => "WOULD BE HELD BACK".to_owned(),
            (None, 0) => counted(list.targets as u64, "target"),
            (None, lines) => format!(
                "{}, {} not understood",
                counted(list.targets as u64, "target"),
                counted(lines, "line")
            ),
        };
        text.push_str(&format!("  {}: {found} ({})\n", list.name, printable::path(&list.path)));
    }
    text
}

/// Lines that were not understood are skipped when the list is loaded, so they forbid nothing.
fn warn(list: &CheckedList, console: &mut Console) {
    for line in &list.told {
        console.note(line);
    }
    let untold = list.rejected.saturating_sub(list.told.len() as u64);
    if untold > 0 {
        console.note(&format!("{}: and {} more", printable::path(&list.path), count(untold)));
    }
}
