//! `filterd check`: shows whether filterd would accept a configuration. It needs no daemon, but asks a
//! running one for its lists.

mod denied;
mod fetching;
mod known;
mod list;
mod render;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::ask::trouble::CommandError;
use super::ask::waiting;
use super::render::console::Console;
use super::render::figure::{count, counted};
use crate::accounts::{self, User};
use crate::cli::{places, user_or_own};
use crate::config::{self, Config, LapiConfig, secret};
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::{self, Failure, status};
use crate::exit::Exit;
use crate::source::patience::TimedReader;
use crate::source::{Targets, well_known, wide};
use crate::state::{GenerationName, StateStore};
use crate::text::{Explain, Explanation, printable};
use fetching::Fetching;
use known::EarlierLists;
use list::{CheckedList, RejectionEffect};
use render::render;

#[derive(Debug, Args)]
pub struct Check {
    /// Configuration to check [default: that of the running filterd, else /etc/filterd/filterd.yaml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Check as this user, which finds files that the user cannot read [default: yourself]
    #[arg(long = "as", value_name = "USER", value_parser = user_or_own)]
    user: Option<User>,
    /// State directory, with the copies that lists are compared with
    #[arg(long, value_name = "DIR", default_value = places::STATE)]
    state_dir: PathBuf,
    /// Check only whether the configuration names an interface
    #[arg(long, conflicts_with = "user")]
    names_interface: bool,
}

/// Further invalid lines are counted, but not shown.
const MOST_TOLD: usize = 10;

/// The findings of a check, as JSON.
#[derive(Debug, Serialize)]
struct CheckOutput {
    file: PathBuf,
    valid: bool,
    held_back: usize,
    interfaces: Vec<String>,
    mode: &'static str,
    enforce: bool,
    block: usize,
    #[serde(skip_serializing_if = "is_none")]
    allow: usize,
    lists: Vec<CheckedList>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    crowdsec: Vec<CheckedLapi>,
    /// Valid settings that the operator should know about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Explanation>,
}

/// A LAPI of CrowdSec that filterd would ask.
#[derive(Debug, Serialize)]
struct CheckedLapi {
    name: String,
    url: String,
    /// The ports on which its decisions would block; all ports if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<String>,
}

fn is_none(number: &usize) -> bool {
    *number == 0
}

impl Check {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        if self.names_interface {
            return Ok(self.check_work(console));
        }
        // Asked before this process takes the rights of another user, so that its own rights decide about
        // the answer.
        let running = Client::connect(socket).and_then(|mut client| client.call(&wire::Status {}));
        let known = EarlierLists::of(StateStore::of(&self.state_dir));
        let used = running.as_ref().ok().and_then(|status| status.config.as_deref());
        let used = used.map_or_else(|| places::CONFIG.into(), PathBuf::from);
        let file = self.file.clone().unwrap_or_else(|| used.clone());
        if self.file.is_none() {
            running.as_ref().err().into_iter().for_each(|error| tell_instead(error, &file, console));
        }
        if let Some(user) = &self.user {
            become_user(user)?;
        }
        let config = config::load(&file).map_err(|error| refused(error.explain()))?;
        if !config.lists.is_empty() {
            running.as_ref().err().into_iter().for_each(|error| tell_unasked(error, console));
        }
        let running = running.map_or_else(|_| Vec::new(), |status| status.lists);
        must_not_be_live(&config, &running)?;
        let known = known.with(running);
        let checked = waiting::shown(console.progress, "reading the lists", || {
            CheckOutput::new(&file, &config, &known)
        });
        console.answer(&checked, render)?;
        let block: Targets = config.block.iter().copied().collect();
        let wide = wide::blocked(&block.others).into_iter().chain(wide::allowed(&config.allow));
        wide.chain(well_known::told("`block:`", &block))
            .for_each(|told| console.note(&format!("warning: {told}")));
        checked.warnings.iter().for_each(|told| console.note(&format!("warning: {told}")));
        checked.lists.iter().for_each(|list| warn(list, console));
        let is_for_the_daemon = is_for_the_daemon(self.file.as_deref(), &used).then_some(file.as_path());
        let denied = match self.user {
            None => denied::to_the_daemon(is_for_the_daemon, &config),
            Some(_) => Vec::new(),
        };
        let lists = checked.lists.iter().filter_map(|list| list.told.as_ref());
        let told: Vec<_> = denied.iter().map(|denied| &denied.explanation).chain(lists).collect();
        if told.is_empty() {
            return Ok(Exit::Done);
        }
        console.flush()?;
        told.into_iter().for_each(|told| console.complain(told));
        let is_refused = checked.lists.iter().any(|list| list.would_be == Some(RejectionEffect::Refused))
            || denied.iter().any(|denied| denied.keeps_from_starting(&file, &config, &known));
        Ok(if is_refused { Exit::Config } else { Exit::Partly })
    }
}

impl Check {
    /// The exit code that says whether a service has anything to do. An invalid configuration is left for
    /// the start to report.
    fn check_work(&self, console: &mut Console) -> Exit {
        let file = self.file(None);
        let names_none = match config::load(&file) {
            Ok(config) => config.interfaces.is_empty(),
            // A missing configuration may have a copy.
            Err(_) => !file.exists() && !StateStore::of(&self.state_dir).has(GenerationName::Current),
        };
        if !names_none {
            return Exit::Done;
        }
        console.note(&format!("{} lists no interface: nothing would be filtered", printable::path(&file)));
        Exit::No
    }

    /// The file that is named, or that a running filterd uses, or the default one.
    fn file(&self, running: Option<&str>) -> PathBuf {
        let running = || running.map(PathBuf::from);
        self.file.clone().or_else(running).unwrap_or_else(|| places::CONFIG.into())
    }
}

/// Whether the daemon is to read the file that is `named`: none is, or it is in the folder of the file that the daemon `used`.
/// The operator is about to rename it there.
fn is_for_the_daemon(named: Option<&Path>, used: &Path) -> bool {
    let folder = |file: &Path| std::path::absolute(file).ok()?.parent()?.canonicalize().ok();
    named.is_none_or(|named| folder(named).is_some_and(|named| folder(used) == Some(named)))
}

/// Takes the rights of `user` for the rest of this process, which needs its own rights no more.
fn become_user(user: &User) -> Result<(), CommandError> {
    accounts::become_user(user).map_err(|error| {
        let told = format!("cannot check as user {}: {error}", user.name);
        CommandError::Refused(Failure::PermissionDenied(Explanation::new(told, "use sudo")))
    })
}

fn refused(explanation: Explanation) -> CommandError {
    CommandError::Refused(Failure::InvalidConfig(explanation))
}

/// Prints that the default file is checked, if a running filterd may use another one.
fn tell_instead(error: &ClientError, file: &Path, console: &mut Console) {
    if !matches!(error, ClientError::NotRunning(_)) {
        let file = printable::path(file);
        console.note(&format!("cannot ask filterd for its configuration, checking {file}: {error}"));
    }
}

/// Prints that live lists are unknown. Without a daemon there are none.
fn tell_unasked(error: &ClientError, console: &mut Console) {
    if !matches!(error, ClientError::NotRunning(_)) {
        console.note(&format!("cannot check whether a live list has the same name: {error}"));
    }
}

/// A live list with entries keeps its name while filterd runs.
fn must_not_be_live(config: &Config, running: &[status::ListStatus]) -> Result<(), CommandError> {
    let is_taken = |running: &&status::ListStatus| {
        let is_called = |list: &config::ListConfig| list.name.as_str() == running.name;
        running.kind == wire::entry::LIVE && running.targets > 0 && config.lists.iter().any(is_called)
    };
    let taken: Vec<_> = running.iter().filter(is_taken).collect();
    let Some(first) = taken.first() else { return Ok(()) };
    let each = taken.iter().map(|list| format!("{} ({} added live)", list.name, count(list.targets)));
    let told = format!(
        "the running filterd would refuse this configuration: {} of the configuration {} the name of a live list: {}",
        counted(taken.len() as u64, "list"),
        if taken.len() == 1 { "has" } else { "have" },
        each.collect::<Vec<_>>().join(", ")
    );
    let remedy = format!("choose another name, or remove its entries: filterd flush --list {}", first.name);
    Err(refused(Explanation::new(told, remedy)))
}

impl CheckOutput {
    fn new(file: &Path, config: &Config, known: &EarlierLists) -> Self {
        let (mut patience, mut fetching) = (TimedReader::default(), Fetching::default());
        let check = |list| CheckedList::new(list, known, &mut patience, &mut fetching);
        let lists: Vec<_> = config.lists.iter().map(check).collect();
        Self {
            file: file.to_owned(),
            valid: true,
            held_back: lists.iter().filter(|list| list.would_be.is_some()).count(),
            interfaces: config.interfaces.clone(),
            mode: config.mode.name(),
            enforce: config.enforce,
            block: config.block.len(),
            allow: config.allow.len(),
            lists,
            crowdsec: config.crowdsec.iter().map(CheckedLapi::new).collect(),
            warnings: config
                .mode
                .warning()
                .into_iter()
                .chain(config.metrics.warnings())
                .chain(config.crowdsec.iter().filter_map(secret::unreadable))
                .collect(),
        }
    }
}

impl CheckedLapi {
    fn new(lapi: &LapiConfig) -> Self {
        let ports = lapi.ports.map(|ports| ports.to_string());
        Self { name: lapi.name.clone(), url: lapi.shown_url(), ports }
    }
}

/// Prints warnings about a list. Invalid lines are skipped when a list is loaded, so they do not make the
/// configuration invalid.
fn warn(list: &CheckedList, console: &mut Console) {
    for line in &list.lines {
        console.note(&format!("warning: {line}"));
    }
    list.remarks.iter().for_each(|told| console.note(&format!("warning: {told}")));
    list.well_known.iter().for_each(|told| console.note(&format!("warning: {told}")));
    let untold = list.rejected.saturating_sub(list.lines.len() as u64);
    if untold > 0 {
        console.note(&format!(
            "warning: {}: {} more lines like these",
            printable::path(&list.path),
            count(untold)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_beside_the_configuration_is_for_the_daemon() {
        let (here, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let used = here.path().join("filterd.yaml");
        assert!(is_for_the_daemon(None, &used));
        assert!(is_for_the_daemon(Some(&used), &used));
        assert!(is_for_the_daemon(Some(&here.path().join("new.yaml")), &used));
        assert!(!is_for_the_daemon(Some(&other.path().join("new.yaml")), &used));
        assert!(!is_for_the_daemon(Some(Path::new("new.yaml")), &used), "it is in the working directory");
    }
}
