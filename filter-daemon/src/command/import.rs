//! `filterd import`: puts on live lists what a file holds, with the list, end and note of each entry.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::add;
use super::ask::change::{self, Outcome, STANDARD_INPUT};
use super::ask::progress::Progress;
use super::ask::trouble::Trouble;
use super::ask::ttl::Ttl;
use super::ask::{guarded, interrupt};
use super::exchange::format::Format;
use super::exchange::reading::{Reading, Unreadable};
use super::exchange::row::Rejected;
use super::exchange::sending::Sending;
use super::exchange::sets::{SetAction, SetChoice, SetPlan};
use super::exchange::sifting::{Asked, INLINE_REMEDY, Inline, InlineEntries, Left, Sifting, To};
use super::lists;
use super::render::console::Console;
use super::render::figure::{self, count, counted, counted_as};
use crate::clock;
use crate::config::ListName;
use crate::control::client::Endpoint;
use crate::control::wire::{Changed, Idle, words};
use crate::exit::Exit;
use crate::source::{Special, file};
use crate::text::{Explain, Explanation, printable};

/// More bad lines than this are counted, not told.
const MOST_TOLD: usize = 10;

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
What is read: what `filterd export` writes in any format; what `ipset save` and `nft -j list` write, where the name of a set
becomes that of the list; and lists as they are published: a target or range a line, CSV, ipsum, DShield, JSON lines, CSF. An
end that is written as a moment stays that moment, one that
is written as time left counts from now on. What is over already is left out.

Some sets allow instead of block. filterd leaves a set out if the rules of the input do anything else than drop it, if its name
suggests that it allows (white, trust, office and others), or if it has exceptions (nomatch). Say what it is for with --block,
--allow or --skip, each as often as you need. If two tables have a set of that name, write 'inet fw bad'. Exceptions are
subtracted from the entries of their set. Pipe the whole ruleset: `nft -j list set` shows no rules. filterd also leaves out
concatenations and maps. The exit code is 7 if a set was left out, and 2 if no target was read. An export or `ipset save` that was
cut is not imported at all (2). What allows takes effect before what blocks.

Private, loopback and other special ranges are taken out, and so is a prefix shorter than /8 (/16 of IPv6), unless you say that
they are meant; of an export of filterd's they come back as they were. What this host needs is never blocked. Entries of a list
that the configuration has here are left to it. Entries of `block:` and `allow:` belong to a configuration: on another machine,
--as-live or --as-config says where they go.

Examples:
  filterd import filterd.json
  filterd import filterd.json --as-live
  ipset save | filterd import - --dry-run
  nft -j list ruleset | filterd import - --block blackhole --allow partners
  nft -j list ruleset | filterd import - --only blackhole
  curl -fsS https://example.org/list.txt | filterd import - --list feed --ttl 1d")]
pub struct Import {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The live list for what blocks, whatever list is written there
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
    /// plain, ipset, nft or json [default: as it seems to be]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Block only for so long, where no end is written: 10m, 2h, 7d
    #[arg(long, value_name = "TIME")]
    ttl: Option<Ttl>,
    /// Take private, loopback and other special ranges, too
    #[arg(long)]
    include_special: bool,
    /// Take prefixes shorter than /8, or than /16 of IPv6, too
    #[arg(long)]
    wide: bool,
    /// Block what is in this set, whatever its name or its rules suggest
    #[arg(long, value_name = "SET")]
    block: Vec<String>,
    /// Allow what is in this set
    #[arg(long, value_name = "SET")]
    allow: Vec<String>,
    /// Import only this set, and those that other options name
    #[arg(long, value_name = "SET")]
    only: Vec<String>,
    /// Do not import this set
    #[arg(long, value_name = "SET")]
    skip: Vec<String>,
    /// Put entries of `block:` and `allow:` of another configuration onto the live lists `manual` and `manual-allow`
    #[arg(long, conflicts_with = "as_config")]
    as_live: bool,
    /// Write entries of `block:` and `allow:` of another configuration to this new file, and import nothing
    #[arg(long, value_name = "NEW_FILE")]
    as_config: Option<PathBuf>,
    /// Show what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Imported {
    /// What the file was read as.
    format: &'static str,
    /// The number of entries that a dry run would import.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_import: Option<u64>,
    /// Are there sets of nftables without any rule?
    #[serde(skip)]
    has_no_rules: bool,
    /// What happens to each set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sets: Vec<SetPlan>,
    #[serde(flatten)]
    outcome: Outcome,
    /// How many targets of it allow, whatever blocks them.
    #[serde(skip_serializing_if = "is_none")]
    allows: u64,
    #[serde(flatten)]
    left: Left,
    /// The file with lines for a configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<Written>,
    /// Why what was read is not all of what was written, if that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<String>,
}

/// A file with lines for a configuration.
#[derive(Debug, Serialize)]
struct Written {
    path: String,
    entries: u64,
    /// Was it only a dry run?
    #[serde(skip)]
    is_dry_run: bool,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

impl Written {
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
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let (json, watched) = (console.json, console.progress);
        let imported = if self.file == Path::new(STANDARD_INPUT) {
            let progress = Progress::new(watched && !console.input_is_terminal, console.input_length);
            self.read(&mut *console.input, "standard input", progress, (socket, json))?
        } else {
            let file = file::open(&self.file).map_err(|error| Trouble::unparsable(error.explain()))?;
            let progress = Progress::new(watched, file.metadata().ok().map(|metadata| metadata.len()));
            let name = printable::path(&self.file).to_string();
            self.read(file, &name, progress, (socket, json))?
        };
        self.tell(&imported, console)
    }

    fn read(
        &self,
        input: impl io::Read,
        name: &str,
        progress: Progress,
        (socket, json): (&Endpoint, bool),
    ) -> Result<Imported, Trouble> {
        let mut reading = Reading::begin(input, self.format).map_err(|error| unreadable(name, error))?;
        let sets =
            reading.choose(&self.choice()).map_err(|error| unreadable(name, Unreadable::Other(error)))?;
        let has_no_rules = reading.lacks_rules && !sets.is_empty();
        let mut sifting = Sifting::new(self.asked(), &lists::ask(socket)?.lists);
        let mut sending = Sending::to(socket)?;
        interrupt::tell_when_interrupted(sending.progress(), json, name.to_owned());
        let mut outcome = Outcome::default();
        let mut counts = Counts::default();
        let ended = self.read_all(
            &mut reading,
            &mut sifting,
            (&mut sending, &mut counts),
            &mut outcome,
            (name, &progress),
        );
        // Nothing is sent before the whole input has been read, so errors must not leave the bar on the terminal.
        progress.end();
        ended?;
        let (fault, format, (left, inline)) = (reading.fault(), reading.format, sifting.finish());
        let incomplete = fault.map(|fault| format!("{name}: {fault}"));
        if counts.rows == 0 && sets.iter().all(|set| set.entries == 0) {
            return Err(nothing_read(name, incomplete));
        }
        let blocks = if self.changes() { sending.blocks() } else { counts.targets - counts.allows };
        must_be_safe(
            name,
            incomplete.as_ref().filter(|_| reading.can_allow),
            blocks.min(left.inline_allows()),
        )?;
        let configuration = self.write_configuration(&inline, name)?;
        let ended = if self.changes() { sending.finish() } else { Ok(()) };
        (outcome.changed, outcome.refusals) = sending.done(&ended);
        match ended {
            Ok(()) => {
                let allows = if self.changes() { sending.allows() } else { counts.allows };
                Ok(Imported {
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

    /// Does it change what is in force?
    const fn changes(&self) -> bool {
        !self.dry_run && self.as_config.is_none()
    }

    fn read_all(
        &self,
        reading: &mut Reading<impl io::Read>,
        sifting: &mut Sifting,
        (sending, count): (&mut Sending<'_>, &mut Counts),
        outcome: &mut Outcome,
        (name, progress): (&str, &Progress),
    ) -> Result<(), Trouble> {
        while let Some(row) = reading.row().map_err(Trouble::Input)? {
            let sifted =
                row.and_then(|(line, item)| sifting.sift(item).map_err(|fault| Rejected { line, fault }));
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

    fn write_configuration(&self, inline: &Inline, name: &str) -> Result<Option<Written>, Trouble> {
        let Some(path) = &self.as_config else { return Ok(None) };
        if !self.dry_run {
            create(path, inline, name).map_err(|error| {
                let error = printable::sentence(&error.to_string());
                let message = format!("cannot create {}: {error}", printable::path(path));
                Trouble::unparsable(Explanation::new(message, "name a new file in a directory that exists"))
            })?;
        }
        let (path, entries) = (printable::path(path).to_string(), inline.count() as u64);
        Ok(Some(Written { path, entries, is_dry_run: self.dry_run }))
    }

    fn choice(&self) -> SetChoice {
        let Self { block, allow, only, skip, .. } = self.clone();
        SetChoice { block, allow, only, skip }
    }

    fn asked(&self) -> Asked {
        let end = |ttl: Ttl| clock::on_the_wall(clock::after(Duration::from_secs(ttl.as_secs())));
        Asked {
            list: self.list.clone(),
            until: self.ttl.map(end),
            special: Special { included: self.include_special, wide: self.wide },
            now: clock::on_the_wall(clock::now()),
            inline: match (self.as_live, &self.as_config) {
                (true, _) => InlineEntries::ToLive,
                (false, Some(_)) => InlineEntries::Collect,
                (false, None) => InlineEntries::LeaveOut,
            },
        }
    }

    fn tell(&self, imported: &Imported, console: &mut Console) -> Result<Exit, Trouble> {
        let Imported { outcome, left, incomplete, .. } = imported;
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

    fn exit(&self, imported: &Imported) -> Exit {
        let Imported { outcome, left, incomplete, sets, .. } = imported;
        let is_partly = incomplete.is_some()
            || sets.iter().any(|set| set.action == SetAction::LeaveOut)
            || left.has_foreign
            || !left.faults().is_empty()
            || outcome.changed.idle == Some(Idle::NothingAttached);
        // A dry run names no target to the daemon.
        let is_part = imported.would_import.is_some_and(|targets| targets > 0) && outcome.rejected > 0;
        let exit = if is_part { Exit::Partly } else { outcome.exit(false) };
        if exit == Exit::Done && is_partly { Exit::Partly } else { exit }
    }
}

/// What was read.
#[derive(Default)]
struct Counts {
    rows: u64,
    /// Targets that a dry run would send.
    targets: u64,
    /// The number of these that allow.
    allows: u64,
}

impl Counts {
    fn add(&mut self, to: &To, targets: u64) {
        self.targets += targets;
        self.allows += if to.allow { targets } else { 0 };
    }
}

fn create(path: &Path, inline: &Inline, name: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    let name = printable::excerpt(name);
    writeln!(file, "# What `block:` and `allow:` had in the export that `filterd import` read from {name}.")?;
    writeln!(file, "# Copy these lines into the configuration, then run `filterd reload`.")?;
    file.write_all(inline.lines().as_bytes())?;
    file.sync_all()
}

/// An import that lacks what allows would block what that protects: `missing` entries of `allow:`, or what was cut.
fn must_be_safe(name: &str, cut: Option<&String>, missing: u64) -> Result<(), Trouble> {
    if let Some(cut) = cut {
        let message = format!("{cut}; entries that allow may be missing, so nothing was imported");
        return Err(Trouble::unparsable(Explanation::new(message, "export it again, and import all of it")));
    }
    if missing == 0 {
        return Ok(());
    }
    let message = format!(
        "nothing was imported: {name} has entries of `allow:`, which commands cannot change, and without them their addresses would be blocked"
    );
    Err(Trouble::unparsable(Explanation::new(message, INLINE_REMEDY)))
}

/// A failed download is often empty.
fn nothing_read(name: &str, incomplete: Option<String>) -> Trouble {
    let message = incomplete.unwrap_or_else(|| format!("nothing was imported: {name} contains no target"));
    Trouble::unparsable(Explanation::new(message, "if it was downloaded, check whether the download failed"))
}

fn unreadable(name: &str, error: Unreadable) -> Trouble {
    match error {
        Unreadable::Input(error) => Trouble::Input(error),
        Unreadable::Other(Explanation { message, remedy }) => {
            Trouble::unparsable(Explanation { message: format!("{name}: {message}"), remedy })
        }
    }
}

fn render(imported: &Imported) -> String {
    let mut lines: Vec<_> = imported.sets.iter().map(SetPlan::line).collect();
    match imported.would_import {
        Some(count) => lines.push(render_dry_run(imported, count)),
        None => lines.extend(render_done(imported)),
    }
    lines.extend(imported.configuration.as_ref().map(Written::line));
    lines.join("\n")
}

fn render_dry_run(Imported { format, allows, .. }: &Imported, count: u64) -> String {
    let all = counted_as(count, ["entry", "entries"]);
    let allowed =
        if *allows > 0 { format!(", {} of them to allow", figure::count(*allows)) } else { String::new() };
    format!("would import {all} ({format}){allowed}; nothing was changed")
}

fn render_done(Imported { format, outcome, allows, .. }: &Imported) -> Vec<String> {
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
