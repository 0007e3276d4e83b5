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
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::source::list;
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
}

/// More lines that were not understood than this are counted, not told.
const MOST_TOLD: usize = 10;

/// What was found.
#[derive(Debug, Serialize)]
struct Checked {
    file: PathBuf,
    valid: bool,
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
}

impl Check {
    pub fn execute(&self, _: &Path, console: &mut Console) -> Result<Exit, Trouble> {
        if let Some(user) = &self.user {
            become_user(user)?;
        }
        let config = config::load(&self.file).map_err(|error| refused(error.explain()))?;
        let checked = Checked::new(&self.file, &config);
        console.answer(&checked, render)?;
        checked.lists.iter().for_each(|list| warn(list, console));
        let errors: Vec<_> = checked.lists.iter().filter_map(|list| list.error.as_deref()).collect();
        if errors.is_empty() {
            return Ok(Exit::Done);
        }
        console.flush()?;
        console.complain(&errors.join("\n").into());
        Ok(Exit::Config)
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
    fn new(file: &Path, config: &Config) -> Self {
        let lists: Vec<_> = config.lists.iter().map(CheckedList::new).collect();
        Self {
            file: file.to_owned(),
            valid: lists.iter().all(|list| list.error.is_none()),
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
    fn new(list: &config::List) -> Self {
        let (name, path) = (list.name.to_string(), list.path.clone());
        match list::read(&list.path) {
            Ok(read) => {
                let told = read.rejected.iter().take(MOST_TOLD).map(ToString::to_string).collect();
                Self {
                    name,
                    path,
                    targets: read.targets.len(),
                    rejected: read.rejected_count,
                    error: None,
                    told,
                }
            }
            Err(error) => Self {
                name,
                path,
                targets: 0,
                rejected: 0,
                error: Some(error.explain().to_string()),
                told: Vec::new(),
            },
        }
    }
}

fn render(checked: &Checked) -> String {
    let interfaces = match &checked.interfaces[..] {
        [] => "no interface (say where with --iface)".to_owned(),
        names => names.join(", "),
    };
    let drops = if checked.enforce { "" } else { ", only counting (`enforce: false`)" };
    let verdict = if checked.valid { "valid" } else { "NOT VALID" };
    let mut text = format!(
        "{} is {verdict}: {interfaces}, mode {}{drops}, {} blocked, {}\n",
        printable::path(&checked.file),
        checked.mode,
        counted(checked.block as u64, "target"),
        counted(checked.lists.len() as u64, "list"),
    );
    for list in &checked.lists {
        let found = match (&list.error, list.rejected) {
            (Some(_), _) => "FAILED".to_owned(),
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
