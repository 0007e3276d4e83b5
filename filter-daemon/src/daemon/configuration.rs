//! The configuration in force: that of the file, or the previous one where the file is not valid. A copy of
//! the last configuration that took effect is kept, for a start at which the file is not valid.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info, warn};

use super::error::DaemonError;
use super::last_good::{ConfigurationCopy, LastGood, MissingLastGood};
use super::reload::{self, KnownList, ListSources, Loaded, PartedLists, WayBack};
use super::retry::{LONGEST, Retry};
use super::trial::{AtStart, Trial};
use crate::cli::{ConfigFile, Run};
use crate::clock;
use crate::config::{self, Config, Mode};
use crate::control::wire::accept::Accept;
use crate::control::wire::{About, Fault};
use crate::source::Copies;
use crate::source::reading::{AcceptedSource, SourceReading};
use crate::state_directory::IF_REPLACED;
use crate::text::{Explanation, date, printable};

/// The part of the owner's state that is about the configuration's file.
pub struct Configuration {
    file: ConfigFile,
    last_good: LastGood,
    /// The file has been read once. From then on a missing file is an error, even at the usual place.
    is_known: bool,
    /// The copy of the configuration that is about to take effect.
    copy: ConfigurationCopy,
    /// Why the configuration in force differs from its file.
    held_back: Option<Fault>,
    /// Set while the configuration in force has no copy on disk.
    not_kept: Option<MissingCopy>,
    /// The mode that filterd started with and keeps, and the fault shown while the configuration has another.
    mode: Option<Mode>,
    other_mode: Option<Fault>,
    /// The trial of a configuration, if one is on.
    pub trial: Trial,
    /// The configuration and lists that a rollback of the trial restores.
    way_back: Option<Arc<WayBack>>,
}

/// The copy of the configuration in force that could not be written.
struct MissingCopy {
    fault: Fault,
    /// The copy to write when the disk accepts it.
    again: ConfigurationCopy,
    retry: Retry,
}

/// The paths of the configuration and its copy, for a reading.
#[derive(Clone, Debug)]
pub struct ConfigurationSource {
    path: Option<PathBuf>,
    last_good: LastGood,
    way_back: Option<Arc<WayBack>>,
}

impl Configuration {
    /// Reads the configuration for a filterd that starts. If it is not valid, the last good copy is used.
    /// A rehearsal, which writes nothing, fails instead: the running filterd protects better.
    pub fn at_start(run: &Run, sources: &mut ListSources) -> Result<(Self, Loaded), DaemonError> {
        let last_good = LastGood::in_directory(&run.state_dir);
        if sources.writes && Trial::was_confirmed(&run.state_dir) {
            last_good.take_prepared();
            for (list, error) in sources.copies.take_all_tried() {
                error!("there is no copy of the confirmed list \"{}\": {error}", list.name);
            }
        }
        // Unfinished files may belong to the filterd that runs.
        if sources.writes {
            sources.copies.clean();
        }
        let before = sources.known();
        let mut this = Self {
            file: run.config.clone(),
            is_known: run.config.path().is_some_and(|path| last_good.read(path).is_ok()),
            last_good,
            copy: ConfigurationCopy::Nothing,
            held_back: None,
            not_kept: None,
            mode: None,
            other_mode: None,
            trial: Trial::none(&run.state_dir),
            way_back: None,
        };
        if let Some(loaded) = this.after_trial(run, &before, sources)? {
            return Ok((this, loaded));
        }
        let parted = this.trial.parted();
        let known = this.known(&before, &parted, sources);
        let loaded = match this.source().load(&known, &Accept::default(), sources) {
            Err(error @ DaemonError::Config(_)) => this.gather_instead(error, &before, sources)?,
            loaded => {
                let loaded = loaded?;
                this.part(&loaded, &known, &before, &parted);
                loaded
            }
        };
        Ok((this, loaded))
    }

    /// Refuses at a start the same configurations as a reload does, and uses the last good copy instead. A
    /// configuration that was in force before is accepted although one of its names is that of a live list.
    /// No live list could have had the name while it was in force.
    pub fn must_be_possible(
        &mut self,
        loaded: Loaded,
        run: &Run,
        live_entries: impl Fn(&str) -> u64,
        sources: &mut ListSources,
    ) -> Result<Loaded, DaemonError> {
        let was_in_force =
            loaded.restores || self.held_back.is_some() || matches!(loaded.copy, ConfigurationCopy::Kept);
        match reload::must_be_possible(&loaded.config, &run.interfaces, live_entries) {
            Ok(()) => Ok(loaded),
            Err(DaemonError::ListIsLive { .. }) if was_in_force => Ok(loaded),
            Err(error) if was_in_force => Err(error),
            Err(error) => {
                if sources.writes && !self.trial.is_on() {
                    self.last_good.discard();
                }
                // Its drafts are removed before others are written.
                drop(loaded);
                let before = sources.known();
                let loaded = self.gather_instead(error, &before, sources)?;
                reload::must_be_possible(&loaded.config, &run.interfaces, |_| 0)?;
                Ok(loaded)
            }
        }
    }

    /// Reads the lists of the last good copy, which replaces a file that cannot be used. A rehearsal fails instead:
    /// the running filterd protects better.
    fn gather_instead(
        &mut self,
        error: DaemonError,
        before: &[KnownList],
        sources: &mut ListSources,
    ) -> Result<Loaded, DaemonError> {
        if !sources.writes {
            return Err(error);
        }
        self.trial.take_lists_only();
        // The previous configuration is in force, with all of its lists.
        let parted = PartedLists::default();
        let known = self.known(before, &parted, sources);
        let loaded = Loaded::gather(self.instead(error)?, &known, &Accept::default(), sources)?;
        self.part(&loaded, &known, before, &parted);
        Ok(loaded)
    }

    /// Records for the trial what became of each list of the previous configuration.
    fn part(&mut self, loaded: &Loaded, known: &[KnownList], before: &[KnownList], parted: &PartedLists) {
        if self.trial.is_on() {
            let called = reload::called(known, &loaded.config.lists);
            let before = before.iter().map(|before| &before.name);
            self.trial.parts(parted.by_start(before, |name| called.get(name).cloned()));
        }
    }

    /// The lists as a start knows them: those of `before` the trial, or those on trial if it continues a
    /// trial.
    fn known(&self, before: &[KnownList], parted: &PartedLists, sources: &mut ListSources) -> Vec<KnownList> {
        if self.trial.is_on() { sources.on_trial(before, parted) } else { before.to_vec() }
    }

    /// Loads the previous configuration if the earlier filterd left a trial that was not confirmed in time. A
    /// filterd that replaces another finds no running trial: a filterd with one refuses to be replaced.
    fn after_trial(
        &mut self,
        run: &Run,
        known: &[KnownList],
        sources: &mut ListSources,
    ) -> Result<Option<Loaded>, DaemonError> {
        // Without a configuration there is nothing to roll back.
        if let ConfigFile::None = self.file {
            self.trial.discard();
            return Ok(None);
        }
        let names = known.iter().map(|known| known.name.clone());
        let (trial, what) = Trial::at_start(&run.state_dir, names);
        self.trial = trial;
        let text = || std::fs::read(self.file.path()?).ok();
        // An invalid file does not end a rollback.
        let is_valid = |text| self.file.path().is_some_and(|path| config::parse(path, text).is_ok());
        match what {
            AtStart::Nothing => return Ok(None),
            AtStart::GoesOn => {
                let lists = known.iter().map(|known| (&known.name, &known.reading));
                self.hold_way_back(lists, &sources.copies, !sources.has_lost_one);
                return Ok(None);
            }
            AtStart::StayRolledBack { checksum }
                if text().is_some_and(|text| crc32fast::hash(&text) != checksum && is_valid(text)) =>
            {
                self.trial.discard();
                return Ok(None);
            }
            AtStart::RollBack | AtStart::StayRolledBack { .. } => {}
        }
        match self.source().restore(known, sources) {
            Ok(loaded) => {
                self.trial.set_found(&loaded);
                self.trial.end_rollback();
                self.note_rollback();
                Ok(Some(loaded))
            }
            // The running filterd has the earlier configuration.
            Err(error) if !sources.writes => Err(error),
            Err(error) => {
                let why = error.brief();
                error!("the rollback of an unconfirmed reload failed: {why}");
                self.trial.cannot_be_put_back(&why);
                Ok(None)
            }
        }
    }

    /// Keeps the configuration in force and the copies of these lists open, so that they can be restored.
    /// `are_all` says whether no other list was in force. Returns the lists whose copies do not know the file
    /// as it was read last.
    pub fn hold_way_back<'a>(
        &mut self,
        lists: impl Iterator<Item = (&'a Arc<str>, &'a SourceReading)>,
        copies: &Copies,
        are_all: bool,
    ) -> Vec<AcceptedSource> {
        let text = self.path().and_then(|path| self.last_good.read(path).ok());
        let way_back = WayBack::hold(text, lists, copies, are_all);
        let unknown = way_back.of_files_unknown();
        self.way_back = Some(Arc::new(way_back));
        unknown
    }

    /// Releases the way back: the prepared copy was used, or is discarded.
    pub fn drop_way_back(&mut self) {
        self.way_back = None;
        self.last_good.discard();
    }

    /// Whether there is a configuration that a reload could change.
    pub fn is_any(&self) -> bool {
        self.path().is_some()
    }

    /// Records that the configuration from before a trial is in force again. This is a fault unless the file
    /// says the same.
    pub fn note_rollback(&mut self) {
        self.copy = ConfigurationCopy::Nothing;
        if self.trial.found_its_file() {
            return;
        }
        let Some(path) = self.file.path() else { return };
        let told = Explanation::new(
            format!(
                "{} was not confirmed: the earlier configuration and lists are in force again",
                printable::path(path)
            ),
            "to see what it would change: filterd diff\nto apply it again: filterd reload --confirm 60s",
        );
        error!("{told}");
        self.held_back = Some(fault(told));
    }

    /// Records that a reload is in force on trial. The copies of the previous configuration stay.
    pub fn note_trial(&mut self) {
        self.held_back = None;
    }

    /// Why another filterd must not replace this one: it would read the file. A rollback is no reason,
    /// because any start finds that in the state directory.
    pub fn trial_in_the_way(&self) -> Option<Explanation> {
        self.trial.refusal().or_else(|| self.trial.unnoted())
    }

    /// Records that the configuration in force is confirmed.
    pub fn note_confirmation(&mut self) {
        self.keep();
    }

    /// Why the configuration in force could not be restored later, if there is a reason.
    pub fn missing_copy(&self) -> Option<Explanation> {
        let path = self.path()?;
        let why = self.last_good.read(path).err()?;
        Some(Explanation::new(
            format!("there is no copy of the configuration: {why}"),
            "to make one: filterd reload",
        ))
    }

    /// The last good copy in place of a file that cannot be used.
    fn instead(&mut self, error: DaemonError) -> Result<Config, DaemonError> {
        let Some(path) = self.file.path() else { return Err(error) };
        let text = match self.last_good.read(path) {
            Ok(text) => text,
            Err(why) => {
                warn!("there is no usable last good copy of the configuration: {why}");
                return Err(error);
            }
        };
        // A copy that another version wrote need not be valid for this one.
        let Ok(config) = config::parse(path, text.into_bytes()) else { return Err(error) };
        let of = self.last_good.written().map_or_else(String::new, |at| format!(" of {}", date::utc(at)));
        let instead = format!("its last good copy{of} is in force instead");
        let mut told = held_back(&error.brief(), path, &instead);
        if let ConfigFile::Usual(_) = self.file {
            told.remedy
                .get_or_insert_default()
                .push_str("; to run without a configuration, start with `--no-config`");
        }
        error!("{told}");
        self.held_back = Some(fault(told));
        Ok(config)
    }

    /// The file to read, if there is one.
    fn path(&self) -> Option<&Path> {
        let path = self.file.path()?;
        let is_missed = self.is_known || !matches!(self.file, ConfigFile::Usual(_));
        (is_missed || path.exists()).then_some(path)
    }

    /// The paths of the configuration and its copy, for the next reading.
    pub fn source(&self) -> ConfigurationSource {
        ConfigurationSource {
            path: self.path().map(Path::to_owned),
            last_good: self.last_good.clone(),
            way_back: self.way_back.clone(),
        }
    }

    /// The file that is read, for people: an absolute path, because they may be in another directory.
    pub fn name(&self) -> Option<String> {
        let path = self.file.path().filter(|_| self.is_known)?;
        let whole = std::path::absolute(path);
        Some(printable::path(whole.as_deref().unwrap_or(path)).to_string())
    }

    /// The log line that sums up what a starting filterd was asked to do.
    pub fn summary(&self, config: &Config, interfaces: &[String]) -> String {
        let file = match (&self.file, self.path()) {
            (ConfigFile::Usual(_), Some(path)) => {
                format!("{} (`--no-config` ignores it)", printable::path(path))
            }
            (_, Some(path)) => printable::path(path).to_string(),
            (_, None) => "none".to_owned(),
        };
        let (enforce, interfaces) = (config.enforce, interfaces.join(", "));
        format!("configuration {file}; enforce: {enforce}; interfaces: {interfaces}")
    }

    /// Takes the copy of a configuration that is about to take effect.
    pub fn prepare(&mut self, loaded: &mut Loaded) {
        self.copy = std::mem::take(&mut loaded.copy);
    }

    /// Records that the configuration read at the start is in force. It may be the last good copy, and then
    /// the file still needs to be fixed.
    pub fn note_start(&mut self) {
        if let ConfigFile::None = self.file {
            self.last_good.forget();
        }
        self.trial.note_start();
        if !self.trial.is_on() {
            self.keep();
        }
    }

    /// Records that the configuration of a reload is in force.
    pub fn note_reload(&mut self) {
        self.held_back = None;
        self.keep();
    }

    fn keep(&mut self) {
        let copy = std::mem::take(&mut self.copy);
        self.is_known |= !matches!(copy, ConfigurationCopy::Nothing);
        self.keep_this(copy);
    }

    fn keep_this(&mut self, copy: ConfigurationCopy) {
        let before = self.not_kept.take();
        let Err(MissingLastGood { why, again }) = self.last_good.keep(copy) else { return };
        let message = format!("there is no copy of the configuration in force: {why}");
        if before.is_none() {
            error!("{message}");
        }
        let remedy = format!(
            "without it filterd cannot start while the configuration is invalid; make the state directory writable and check its free space: filterd retries within {} minutes, and `filterd reload` retries now; {IF_REPLACED}",
            LONGEST.as_secs() / 60
        );
        let fault = fault(Explanation::new(message, remedy));
        let since = before.as_ref().map_or(fault.since, |before| before.fault.since);
        let retry = before.map_or_else(Retry::soon, |before| before.retry.later());
        self.not_kept = Some(MissingCopy { fault: Fault { since, ..fault }, again, retry });
    }

    /// How long until the copy that the disk refused is tried again.
    pub fn until_due(&self) -> Option<Duration> {
        Some(self.not_kept.as_ref()?.retry.until_due())
    }

    /// Writes the copy that the disk refused again if it is due. A running reading may be writing its own
    /// copy.
    pub fn keep_again(&mut self, is_reading: bool) {
        let is_due = |uncopied: &&mut MissingCopy| uncopied.retry.until_due().is_zero();
        let Some(uncopied) = self.not_kept.as_mut().filter(is_due) else { return };
        if is_reading {
            uncopied.retry = uncopied.retry.later();
            return;
        }
        let again = std::mem::take(&mut uncopied.again);
        self.keep_this(again);
        if self.not_kept.is_none() {
            info!("the copy of the configuration is on disk");
        }
    }

    /// Why the configuration in force is not that of its file, if that is so.
    pub fn not_taken(&self) -> Option<Explanation> {
        Some(self.held_back.as_ref()?.told.clone())
    }

    /// The message shown while the configuration in force has no copy.
    pub fn without_copy(&self) -> Option<Explanation> {
        Some(self.not_kept.as_ref()?.fault.told.clone())
    }

    /// Records that a configuration was refused.
    pub fn note_refusal(&mut self, error: &DaemonError) {
        self.copy = ConfigurationCopy::Nothing;
        if !self.trial.is_on() {
            self.last_good.discard();
        }
        let is_elsewhere =
            matches!(error, DaemonError::OnTrial(_) | DaemonError::NoWayBack(_) | DaemonError::NothingToTry);
        let is_slip =
            matches!(error, DaemonError::NothingToAccept { .. } | DaemonError::AcceptsEither { .. });
        if is_elsewhere || is_slip {
            // A mistake in the request says nothing about the file.
            return;
        }
        let since = self.held_back.take().map(|fault| fault.since);
        let path = self.file.path().unwrap_or(Path::new("--iface"));
        let fault = fault(held_back(&error.brief(), path, "the earlier one remains in force"));
        self.held_back = Some(Fault { since: since.unwrap_or(fault.since), ..fault });
    }

    /// Compares the configuration's mode with the one in use. Interfaces stay as they are attached.
    pub fn set_mode(&mut self, mode: Mode) {
        let begun = *self.mode.get_or_insert(mode);
        if mode == begun {
            self.other_mode = None;
        } else if self.other_mode.is_none() {
            let message =
                "the new `mode` of the configuration is not in use yet: interfaces stay attached as they are";
            self.other_mode = Some(fault(Explanation::new(message, "it takes effect when filterd restarts")));
        }
    }

    /// Whether interfaces are attached in another mode than this.
    pub fn waits_for(&self, mode: Mode) -> bool {
        self.mode.is_some_and(|begun| begun != mode)
    }

    /// The faults of the configuration, its copy, its mode and its trial.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        let not_kept = self.not_kept.as_ref().map(|uncopied| &uncopied.fault);
        let told = self.held_back.iter().chain(not_kept).chain(&self.other_mode).cloned();
        told.chain(self.trial.fault())
    }
}

impl ConfigurationSource {
    /// Reads everything. The copy of a valid configuration is written at once, and replaces the last one when
    /// the configuration takes effect.
    pub fn load(
        &self,
        known: &[KnownList],
        accept: &Accept,
        sources: &mut ListSources,
    ) -> Result<Loaded, DaemonError> {
        let Some(path) = &self.path else {
            return Loaded::gather(Config::default(), known, accept, sources);
        };
        let bytes = sources.read_config(path)?;
        let config = config::parse(path, bytes.clone())?;
        let copy =
            if sources.writes { self.last_good.prepare(path, &bytes) } else { ConfigurationCopy::Nothing };
        let checksum = crc32fast::hash(&bytes);
        Ok(Loaded { copy, checksum, ..Loaded::gather(config, known, accept, sources)? })
    }

    /// Reads the configuration and its lists from the copies: those held open, or those in the state
    /// directory.
    pub fn restore(&self, known: &[KnownList], sources: &mut ListSources) -> Result<Loaded, DaemonError> {
        let Some(path) = &self.path else {
            return Ok(Loaded::restore(Config::default(), known, None, sources));
        };
        let way_back = self.way_back.as_deref();
        let cannot = |why: String| DaemonError::System(std::io::Error::other(why));
        if let Some(way_back) = way_back {
            way_back.put_back(&sources.copies);
        }
        let text = match way_back.and_then(WayBack::text) {
            Some(text) => {
                if self.last_good.read(path).is_err()
                    && let Err(not_kept) = self.last_good.keep(self.last_good.prepare(path, text.as_bytes()))
                {
                    let why = not_kept.why;
                    error!("the copy of the configuration is missing and cannot be written: {why}");
                }
                text.to_owned()
            }
            None => self.last_good.read(path).map_err(cannot)?,
        };
        // A file that cannot be read counts as different.
        let said = sources.read_config(path).ok();
        let checksum = said.as_deref().map_or(0, crc32fast::hash);
        let says_its_file = said.as_deref() == Some(text.as_bytes());
        let config = config::parse(path, text.into_bytes())?;
        Ok(Loaded { checksum, says_its_file, ..Loaded::restore(config, known, way_back, sources) })
    }
}

fn held_back(why: &Explanation, path: &Path, instead: &str) -> Explanation {
    let message = format!("the configuration is not in force, {instead}: {}", why.message);
    let again = format!(
        "to see the errors: filterd check {}\nto apply it after fixing it: filterd reload",
        printable::path(path)
    );
    let remedy = why.remedy.as_ref().map_or_else(|| again.clone(), |remedy| format!("{remedy}; {again}"));
    Explanation::new(message, remedy)
}

fn fault(told: Explanation) -> Fault {
    Fault { about: About::Configuration, since: clock::on_the_wall(clock::now()), told, id: None }
}
