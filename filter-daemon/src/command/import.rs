//! `filterd import`: adds the entries of a file to live lists, with the list, end and note of each.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::add;
use super::ask::change::{self, ChangeOutcome, STANDARD_INPUT};
use super::ask::progress::ProgressIndicator;
use super::ask::trouble::CommandError;
use super::ask::ttl::Ttl;
use super::ask::{guarded, interrupt};
use super::exchange::format::ExchangeFormat;
use super::exchange::reading::{ImportReader, Unreadable};
use super::exchange::row::RejectedRow;
use super::exchange::sending::ImportSender;
use super::exchange::sets::{SetAction, SetChoice, SetPlan};
use super::exchange::sifting::{
    ImportDestination, ImportOptions, ImportSelection, InlineEntries, InlineTargets, LeftOutCounts,
};
use super::lists;
use super::render::console::Console;
use super::render::figure::{self, count, counted, counted_as};
use crate::clock;
use crate::config::ListName;
use crate::control::client::Endpoint;
use crate::control::wire::{Changed, Idle, words};
use crate::exit::Exit;
use crate::source::{SpecialRanges, file};
use crate::text::{Explain, Explanation, printable};

/// Further bad lines are counted, but not shown.
const MOST_TOLD: usize = 10;

#[derive(Clone, Debug, Args)]
pub struct Import {
    /// File to import, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Live list for all entries that block [default: the one in the file, else manual]
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
    /// plain, ipset, nft or json [default: recognized from the content]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ExchangeFormat>,
    /// Expire blocks for which the file names no end: 10m, 2h, 7d [default: never]
    #[arg(long, value_name = "TIME")]
    ttl: Option<Ttl>,
    /// Accept private, loopback and other special ranges
    #[arg(long)]
    include_special: bool,
    /// Accept prefixes shorter than /8 (IPv4) or /16 (IPv6)
    #[arg(long)]
    wide: bool,
    /// Block what is in this set, whatever its name or rules suggest. Repeatable
    #[arg(long, value_name = "SET")]
    block: Vec<String>,
    /// Allow what is in this set. Repeatable
    #[arg(long, value_name = "SET")]
    allow: Vec<String>,
    /// Import only this set and those that other options name. Repeatable [default: all sets]
    #[arg(long, value_name = "SET")]
    only: Vec<String>,
    /// Do not import this set. Repeatable
    #[arg(long, value_name = "SET")]
    skip: Vec<String>,
    /// Add entries of `block:` and `allow:` of another configuration to the live lists `manual` and `manual-allow`
    #[arg(long, conflicts_with = "as_config")]
    as_live: bool,
    /// Write entries of `block:` and `allow:` of another configuration to this new file, and import nothing
    #[arg(long, value_name = "NEW_FILE")]
    as_config: Option<PathBuf>,
    /// Show what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// The outcome of an import.
#[derive(Debug, Serialize)]
struct ImportResult {
    /// The format that was recognized.
    format: &'static str,
    /// The number of entries that a dry run would import.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_import: Option<u64>,
    /// Whether there are sets of nftables, but no rules.
    #[serde(skip)]
    has_no_rules: bool,
    /// What happens to each set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sets: Vec<SetPlan>,
    #[serde(flatten)]
    outcome: ChangeOutcome,
    /// How many of the targets allow instead of block.
    #[serde(skip_serializing_if = "is_none")]
    allows: u64,
    #[serde(flatten)]
    left: LeftOutCounts,
    /// The file that contains lines for a configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<WrittenFile>,
    /// Why the input is not complete, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<String>,
}

/// A file with lines for a configuration.
#[derive(Debug, Serialize)]
struct WrittenFile {
    path: String,
    entries: u64,
    /// Whether it was only a dry run.
    #[serde(skip)]
    is_dry_run: bool,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

impl WrittenFile {
    fn line(&self) -> String {
        let Self { path, entries, is_dry_run } = self;
        let entries = counted_as(*entries, ["entry", "entries"]);
        if *is_dry_run {
            return format!("would write {entries} of `block:` and `allow:` to {path}");
        }
        format!(
            "wrote {entries} of `block:` and `allow:` to {path}: copy them into the configuration, run `filterd reload`, then \
             import the rest without --as-config"
        )
    }
}

impl Import {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let (json, watched) = (console.json, console.progress);
        let imported = if self.file == Path::new(STANDARD_INPUT) {
            let progress =
                ProgressIndicator::new(watched && !console.input_is_terminal, console.input_length);
            self.read(&mut *console.input, "standard input", progress, (socket, json))?
        } else {
            let file = file::open(&self.file).map_err(|error| CommandError::unparsable(error.explain()))?;
            let progress =
                ProgressIndicator::new(watched, file.metadata().ok().map(|metadata| metadata.len()));
            let name = printable::path(&self.file).to_string();
            self.read(file, &name, progress, (socket, json))?
        };
        self.tell(&imported, console)
    }

    fn read(
        &self,
        input: impl io::Read,
        name: &str,
        progress: ProgressIndicator,
        (socket, json): (&Endpoint, bool),
    ) -> Result<ImportResult, CommandError> {
        let mut reading = ImportReader::begin(input, self.format).map_err(|error| unreadable(name, error))?;
        let sets =
            reading.choose(&self.choice()).map_err(|error| unreadable(name, Unreadable::Other(error)))?;
        let has_no_rules = reading.lacks_rules && !sets.is_empty();
        let mut sifting = ImportSelection::new(self.asked(), &lists::ask(socket)?.lists);
        let mut sending = ImportSender::to(socket)?;
        interrupt::tell_when_interrupted(sending.progress(), json, name.to_owned());
        let mut outcome = ChangeOutcome::default();
        let mut counts = ImportCounts::default();
        let ended = self.read_all(
            &mut reading,
            &mut sifting,
            (&mut sending, &mut counts),
            &mut outcome,
            (name, &progress),
        );
        // Nothing is sent before the whole input has been read, so errors must not leave the bar on the
        // terminal.
        progress.end();
        ended?;
        let (fault, format, (left, inline)) = (reading.fault(), reading.format, sifting.finish());
        let incomplete = fault.map(|fault| format!("{name}: {fault}"));
        if counts.rows == 0 && sets.iter().all(|set| set.entries == 0) {
            return Err(nothing_read(name, incomplete));
        }
        let blocks = if self.changes() { sending.blocks() } else { counts.targets - counts.allows };
        let cut = incomplete.as_ref().filter(|_| reading.can_allow);
        must_be_safe(name, cut, left.missing_allows().filter(|_| blocks > 0))?;
        let configuration = self.write_configuration(&inline, name)?;
        let ended = if self.changes() { sending.finish() } else { Ok(()) };
        (outcome.changed, outcome.refusals) = sending.done(&ended);
        match ended {
            Ok(()) => {
                let allows = if self.changes() { sending.allows() } else { counts.allows };
                Ok(ImportResult {
                    format,
                    would_import: (!self.changes()).then_some(counts.targets),
                    has_no_rules,
                    sets,
                    outcome: change::unless_all_guarded(outcome)?,
                    allows,
                    left,
                    configuration,
                    incomplete,
                })
            }
            Err(error) => Err(change::partly(outcome, error.into())),
        }
    }

    /// Returns whether this import changes the entries in force.
    const fn changes(&self) -> bool {
        !self.dry_run && self.as_config.is_none()
    }

    fn read_all(
        &self,
        reading: &mut ImportReader<impl io::Read>,
        sifting: &mut ImportSelection,
        (sending, count): (&mut ImportSender<'_>, &mut ImportCounts),
        outcome: &mut ChangeOutcome,
        (name, progress): (&str, &ProgressIndicator),
    ) -> Result<(), CommandError> {
        while let Some(row) = reading.row().map_err(CommandError::Input)? {
            let sifted =
                row.and_then(|(line, item)| sifting.sift(item).map_err(|fault| RejectedRow { line, fault }));
            match sifted {
                Ok(Some((to, targets, _))) if !self.changes() => count.add(&to, targets.len() as u64),
                Ok(Some((to, targets, own))) => {
                    targets.into_iter().for_each(|target| sending.push(&to, target, own.clone()));
                }
                Ok(None) => {}
                Err(rejected) => {
                    outcome.rejected += 1;
                    if outcome.errors.len() < MOST_TOLD {
                        outcome.errors.push(rejected.told(name));
                    }
                }
            }
            count.rows += 1;
            progress.show(count.rows, reading.position());
        }
        Ok(())
    }

    fn write_configuration(
        &self,
        inline: &InlineTargets,
        name: &str,
    ) -> Result<Option<WrittenFile>, CommandError> {
        let Some(path) = &self.as_config else { return Ok(None) };
        if !self.dry_run {
            create(path, inline, name).map_err(|error| {
                let error = printable::sentence(&error.to_string());
                let message = format!("cannot create {}: {error}", printable::path(path));
                CommandError::unparsable(Explanation::new(
                    message,
                    "name a new file in a directory that exists",
                ))
            })?;
        }
        let (path, entries) = (printable::path(path).to_string(), inline.count() as u64);
        Ok(Some(WrittenFile { path, entries, is_dry_run: self.dry_run }))
    }

    fn choice(&self) -> SetChoice {
        let Self { block, allow, only, skip, .. } = self.clone();
        SetChoice { block, allow, only, skip }
    }

    fn asked(&self) -> ImportOptions {
        let end = |ttl: Ttl| clock::on_the_wall(clock::after(Duration::from_secs(ttl.as_secs())));
        ImportOptions {
            list: self.list.clone(),
            until: self.ttl.map(end),
            special: SpecialRanges { included: self.include_special, wide: self.wide },
            now: clock::on_the_wall(clock::now()),
            inline: match (self.as_live, &self.as_config) {
                (true, _) => InlineEntries::ToLive,
                (false, Some(_)) => InlineEntries::Collect,
                (false, None) => InlineEntries::LeaveOut,
            },
        }
    }

    fn tell(&self, imported: &ImportResult, console: &mut Console) -> Result<Exit, CommandError> {
        let ImportResult { outcome, left, incomplete, .. } = imported;
        outcome.errors.iter().for_each(|error| console.note(&format!("error: {error}")));
        if outcome.rejected > MOST_TOLD as u64 {
            console.complain(
                &format!("{} were not understood in total", counted(outcome.rejected, "line")).into(),
            );
        }
        console.answer(imported, render)?;
        if imported.has_no_rules {
            console.note("the input has no rules, so filterd judges its sets by their names; `nft -j list ruleset` has both");
        }
        left.notes().iter().for_each(|note| console.note(note));
        outcome.changed.warnings.iter().for_each(|warning| console.note(&format!("warning: {warning}")));
        guarded::tell(outcome, console);
        imported.sets.iter().filter_map(SetPlan::fault).for_each(|fault| console.complain(&fault));
        left.faults().iter().for_each(|fault| console.complain(fault));
        if let Some(incomplete) = incomplete {
            console.complain(&incomplete.clone().into());
        }
        change::tell_durability(&outcome.changed, console);
        Ok(self.exit(imported))
    }

    fn exit(&self, imported: &ImportResult) -> Exit {
        let ImportResult { outcome, left, incomplete, sets, .. } = imported;
        let is_partly = incomplete.is_some()
            || sets.iter().any(|set| set.action == SetAction::LeaveOut)
            || left.has_foreign
            || !left.faults().is_empty()
            || outcome.changed.idle == Some(Idle::NothingAttached);
        // A dry run sends no targets to the daemon.
        let is_part = imported.would_import.is_some_and(|targets| targets > 0) && outcome.rejected > 0;
        let exit = if is_part { Exit::Partly } else { outcome.exit(false) };
        if exit == Exit::Done && is_partly { Exit::Partly } else { exit }
    }
}

/// Counts of the entries that were read.
#[derive(Default)]
struct ImportCounts {
    rows: u64,
    /// The number of targets that a dry run would send.
    targets: u64,
    /// How many of these allow.
    allows: u64,
}

impl ImportCounts {
    fn add(&mut self, to: &ImportDestination, targets: u64) {
        self.targets += targets;
        self.allows += if to.allow { targets } else { 0 };
    }
}

fn create(path: &Path, inline: &InlineTargets, name: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    let name = printable::excerpt(name);
    writeln!(file, "# What `block:` and `allow:` had in the export that `filterd import` read from {name}.")?;
    writeln!(file, "# Copy these lines into the configuration, then run `filterd reload`.")?;
    file.write_all(inline.lines().as_bytes())?;
    file.sync_all()
}

/// An import that lacks entries that allow would block the addresses that they protect: `missing` entries, or a cut end.
fn must_be_safe(name: &str, cut: Option<&String>, missing: Option<Explanation>) -> Result<(), CommandError> {
    if let Some(cut) = cut {
        let message = format!("{cut}; entries that allow may be missing, so nothing was imported");
        return Err(CommandError::unparsable(Explanation::new(
            message,
            "export it again, and import all of it",
        )));
    }
    match missing {
        None => Ok(()),
        Some(Explanation { message, remedy }) => Err(CommandError::unparsable(Explanation {
            message: format!("nothing was imported from {name}: {message}"),
            remedy,
        })),
    }
}

/// The error for an input without targets. A failed download is often empty.
fn nothing_read(name: &str, incomplete: Option<String>) -> CommandError {
    let message = incomplete.unwrap_or_else(|| format!("nothing was imported: {name} contains no target"));
    CommandError::unparsable(Explanation::new(
        message,
        "if it was downloaded, check whether the download failed",
    ))
}

fn unreadable(name: &str, error: Unreadable) -> CommandError {
    match error {
        Unreadable::Input(error) => CommandError::Input(error),
        Unreadable::Other(Explanation { message, remedy }) => {
            CommandError::unparsable(Explanation { message: format!("{name}: {message}"), remedy })
        }
    }
}

fn render(imported: &ImportResult) -> String {
    let mut lines: Vec<_> = imported.sets.iter().map(SetPlan::line).collect();
    match imported.would_import {
        Some(count) => lines.push(render_dry_run(imported, count)),
        None => lines.extend(render_done(imported)),
    }
    lines.extend(imported.configuration.as_ref().map(WrittenFile::line));
    lines.join("\n")
}

fn render_dry_run(ImportResult { format, allows, .. }: &ImportResult, count: u64) -> String {
    let all = counted_as(count, ["entry", "entries"]);
    let allowed =
        if *allows > 0 { format!(", {} of them to allow", figure::count(*allows)) } else { String::new() };
    format!("would import {all} ({format}){allowed}; nothing was changed")
}

fn render_done(ImportResult { format, outcome, allows, .. }: &ImportResult) -> Vec<String> {
    let Changed { named, changed, entered, allowed, .. } = outcome.changed;
    let (renewed, same) = (changed.saturating_sub(entered), named.saturating_sub(changed));
    let part = |number: u64, what: &str| (number > 0).then(|| format!("{} {what}", count(number)));
    let parts = [
        part(entered, "newly in force"),
        part(renewed, "in force before, with a new list, end or note"),
        part(same, "there already"),
        part(*allows, "to allow, whatever is blocked"),
        part(allowed, "of them are allowed, so NOT dropped"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let all = counted_as(named, ["entry", "entries"]);
    let told = if parts.is_empty() { "nothing changed".to_owned() } else { parts.join(", ") };
    let mut lines = vec![format!("imported {all} ({format}): {told}{}", add::but(&outcome.changed))];
    lines.extend(guarded::around(&outcome.changed));
    lines
}
