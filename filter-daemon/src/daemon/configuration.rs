//! The configuration in force: that of the file, or the previous one where the file is not valid. The last
//! configuration that took effect is saved, for a start at which the file is not valid.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::{error, warn};

use super::error::DaemonError;
use super::reload::{self, KnownList, ListSources, Loaded, WayBack};
use super::trial::Trial;
use crate::cli::{ConfigFile, Run};
use crate::clock;
use crate::config::{self, Config, Mode};
use crate::control::ReplyTo;
use crate::control::wire::accept::Accept;
use crate::control::wire::{About, Fault, confirm, rollback};
use crate::source::digest::Digest;
use crate::source::reading::{AcceptedSource, SourceReading};
use crate::state::{
    ConfigText, FoundFile, FoundGeneration, Generation, GenerationName, SaveTarget, SavedConfig, StartChoice,
    StateStore,
};
use crate::text::{Explanation, date, printable};

/// The part of the owner's state that is about the configuration's file.
pub struct Configuration {
    /// The configuration in force.
    pub config: Config,
    file: ConfigFile,
    store: StateStore,
    /// The file has been read once. From then on a missing file is an error, even at the usual place.
    is_known: bool,
    /// The text of the configuration in force.
    text: Option<Arc<ConfigText>>,
    /// Why the configuration in force differs from its file.
    held_back: Option<Fault>,
    /// The mode that filterd started with and keeps, and the fault shown while the configuration has another.
    mode: Option<Mode>,
    other_mode: Option<Fault>,
    /// The trial of a configuration, if one is on.
    pub trial: Trial,
    /// The configuration and lists that a rollback of the trial restores.
    way_back: Option<Arc<WayBack>>,
    /// Clients that wait until the copies of a confirmed reload are on disk.
    pub confirming: Vec<ReplyTo<confirm::Reply>>,
    /// Clients that wait until the state before a trial is restored.
    pub rolling_back: Vec<ReplyTo<rollback::Reply>>,
}

/// The paths of the configuration and its copy, for a reading.
#[derive(Clone, Debug)]
pub struct ConfigurationSource {
    path: Option<PathBuf>,
    store: StateStore,
    way_back: Option<Arc<WayBack>>,
}

impl Configuration {
    /// Reads the configuration for a filterd that starts. If it is not valid, the last good copy is used.
    /// A rehearsal, which writes nothing, fails instead: the running filterd protects better.
    pub fn at_start(run: &Run, sources: &mut ListSources) -> Result<(Self, Loaded), DaemonError> {
        let store = sources.store.clone();
        // Unfinished files may belong to the filterd that runs.
        if sources.writes {
            store.clean();
        }
        let before = sources.carried_over()?;
        let is_known = run.config.path().is_some_and(|path| last_good(&store, path).is_ok());
        let mut this = Self {
            config: Config::default(),
            file: run.config.clone(),
            is_known,
            trial: Trial::none(&store),
            store,
            text: None,
            held_back: None,
            mode: None,
            other_mode: None,
            way_back: None,
            confirming: Vec::new(),
            rolling_back: Vec::new(),
        };
        if let Some(loaded) = this.after_trial(&before, sources)? {
            return Ok((this, loaded));
        }
        let known = this.known(&before, sources);
        let loaded = match this.source().load(&known, &Accept::default(), sources) {
            Err(error @ DaemonError::Config(_)) => this.gather_instead(error, &before, sources)?,
            loaded => loaded?,
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
            loaded.restores || self.held_back.is_some() || self.is_saved(loaded.text.as_deref());
        match reload::must_be_possible(&loaded.config, &run.interfaces, live_entries) {
            Ok(()) => Ok(loaded),
            Err(DaemonError::ListIsLive { .. }) if was_in_force => Ok(loaded),
            Err(error) if was_in_force => Err(error),
            Err(error) => {
                // Its drafts are removed before others are written.
                drop(loaded);
                let before = sources.known();
                let loaded = self.gather_instead(error, &before, sources)?;
                reload::must_be_possible(&loaded.config, &run.interfaces, |_| 0)?;
                Ok(loaded)
            }
        }
    }

    /// Reads the lists of the last good copy, which replaces a file that cannot be used. A rehearsal fails
    /// instead: the running filterd protects better.
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
        let mut known = self.known(before, sources);
        let others = before.iter().filter(|list| known.iter().all(|known| known.name != list.name));
        let others: Vec<_> = others.cloned().collect();
        known.extend(others);
        let (config, text) = self.instead(error)?;
        let loaded = Loaded::gather(config, &known, &Accept::default(), sources)?;
        Ok(Loaded { text: Some(Arc::new(text)), ..loaded })
    }

    /// The lists as a start knows them: those of `before` the trial, or those on trial if it continues a
    /// trial.
    fn known(&self, before: &[KnownList], sources: &mut ListSources) -> Vec<KnownList> {
        if self.trial.is_on() { sources.on_trial() } else { before.to_vec() }
    }

    /// Whether this text is that of the current generation.
    fn is_saved(&self, text: Option<&ConfigText>) -> bool {
        let saved = self.store.read(GenerationName::Current).generation().and_then(|saved| saved.config);
        saved.zip(text).is_some_and(|(saved, text)| {
            (saved.of, saved.digest) == (text.of.clone(), Digest::of(text.text.as_bytes()))
        })
    }

    /// Loads the previous configuration if the earlier filterd left a trial that was not confirmed in time. A
    /// rehearsal finds no running trial, because a filterd with one refuses to be replaced.
    fn after_trial(
        &mut self,
        known: &[KnownList],
        sources: &mut ListSources,
    ) -> Result<Option<Loaded>, DaemonError> {
        // Without a configuration there is nothing to roll back.
        if let ConfigFile::None = self.file {
            self.trial.discard();
            return Ok(None);
        }
        let names = known.iter().map(|known| known.name.clone());
        let file = || {
            let path = self.file.path();
            let text = path.and_then(|path| std::fs::read(path).ok());
            let valid =
                text.filter(|text| path.is_some_and(|path| config::parse(path, text.clone()).is_ok()));
            valid.map_or(FoundFile::Unusable, |text| FoundFile::Valid(crc32fast::hash(&text)))
        };
        let (trial, choice) = Trial::at_start(&self.store, names, file);
        self.trial = trial;
        match choice {
            StartChoice::TakeFile | StartChoice::TakeChangedFile => return Ok(None),
            StartChoice::GoOn(..) => {
                let lists = known.iter().map(|known| (&known.name, &known.reading));
                self.hold_way_back(lists, !sources.has_lost_one);
                return Ok(None);
            }
            StartChoice::RollBack(_) | StartChoice::StayRolledBack(_) => {}
        }
        match self.source().restore(known, sources) {
            Ok(loaded) => {
                self.trial.set_found(&loaded);
                if sources.writes {
                    self.trial.end_rollback();
                }
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
        are_all: bool,
    ) -> Vec<AcceptedSource> {
        let text = self.path().and_then(|path| last_good(&self.store, path).ok());
        let way_back = WayBack::hold(text.map(|(text, _)| text), lists, &self.store, are_all);
        let unknown = way_back.of_files_unknown();
        self.way_back = Some(Arc::new(way_back));
        unknown
    }

    /// Begins a trial of the configuration with this text. That is on disk when this returns, with these lists.
    /// `names` are the lists in force.
    pub fn begin_trial(
        &mut self,
        length: Duration,
        asked: (&str, u32),
        names: Vec<Arc<str>>,
        (text, lists): (Option<&ConfigText>, Vec<AcceptedSource>),
    ) -> Result<(), String> {
        let config = text.map(|text| self.store.save_text(text)).transpose();
        let config = config.map_err(|error| error.to_string())?;
        let generation = Generation { config, lists, ..Generation::default() };
        self.trial.begin(length, asked, names, generation)
    }

    /// Releases the way back.
    pub fn drop_way_back(&mut self) {
        self.way_back = None;
    }

    /// Whether there is a configuration that a reload could change.
    pub fn is_any(&self) -> bool {
        self.path().is_some()
    }

    /// Records that the configuration from before a trial is in force again. This is a fault unless the file
    /// says the same.
    pub fn note_rollback(&mut self) {
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

    /// Why the configuration in force could not be restored later, if there is a reason.
    pub fn missing_copy(&self) -> Option<Explanation> {
        let path = self.path()?;
        let why = last_good(&self.store, path).err()?;
        Some(Explanation::new(
            format!("there is no copy of the configuration: {why}"),
            "to make one: filterd reload",
        ))
    }

    /// The last good copy in place of a file that cannot be used.
    fn instead(&mut self, error: DaemonError) -> Result<(Config, ConfigText), DaemonError> {
        let Some(path) = self.file.path() else { return Err(error) };
        let (text, saved) = match last_good(&self.store, path) {
            Ok(found) => found,
            Err(why) => {
                warn!("there is no usable last good copy of the configuration: {why}");
                return Err(error);
            }
        };
        // A copy that another version wrote need not be valid for this one.
        let Ok(config) = config::parse(path, text.text.clone().into_bytes()) else { return Err(error) };
        let instead = format!("its last good copy of {} is in force instead", date::utc(saved.at));
        let mut told = held_back(&error.brief(), path, &instead);
        if let ConfigFile::Usual(_) = self.file {
            told.remedy
                .get_or_insert_default()
                .push_str("; to run without a configuration, start with `--no-config`");
        }
        error!("{told}");
        self.held_back = Some(fault(told));
        Ok((config, text))
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
            store: self.store.clone(),
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

    /// Records that the configuration with this text is in force.
    pub fn take_effect(&mut self, text: Option<Arc<ConfigText>>) {
        self.is_known |= text.is_some();
        self.text = text;
    }

    /// Where the generation in force is saved.
    pub fn save_target(&self) -> SaveTarget {
        SaveTarget {
            trial: self.trial.head(),
            confirms: self.trial.is_confirmed(),
            config: self.text.clone(),
        }
    }

    /// Records that the configuration read at the start is in force. It may be the last good copy, and then
    /// the file still needs to be fixed. From now on a start does not depend on the file.
    pub fn note_start(&mut self) {
        self.trial.note_start();
        self.store.end_carry_over();
        if let Some(text) = self.text.as_deref().filter(|_| !self.trial.is_on())
            && !self.is_saved(Some(text))
            && let Err(error) = self.store.save_config_alone(text)
        {
            // The generation is saved soon, and a failure of that is reported.
            warn!("{error}");
        }
    }

    /// Records that the configuration of a reload is in force.
    pub fn note_reload(&mut self) {
        self.held_back = None;
    }

    /// Why the configuration in force is not that of its file, if that is so.
    pub fn not_taken(&self) -> Option<Explanation> {
        Some(self.held_back.as_ref()?.told.clone())
    }

    /// Records that a configuration was refused.
    pub fn note_refusal(&mut self, error: &DaemonError) {
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

    /// The faults of the configuration, its mode and its trial. `unsaved` is that of its copy.
    pub fn faults<'a>(&'a self, unsaved: Option<&'a Fault>) -> impl Iterator<Item = Fault> {
        let told = self.held_back.iter().chain(unsaved).chain(&self.other_mode).cloned();
        told.chain(self.trial.fault())
    }
}

impl ConfigurationSource {
    /// Reads the configuration's file and its lists.
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
        let checksum = crc32fast::hash(&bytes);
        let text = String::from_utf8(bytes).ok().map(|text| Arc::new(ConfigText::new(path, text)));
        Ok(Loaded { text, checksum, ..Loaded::gather(config, known, accept, sources)? })
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
            way_back.put_back(&self.store);
        }
        let text = match way_back.and_then(WayBack::text) {
            Some(text) => text.clone(),
            None => last_good(&self.store, path).map_err(cannot)?.0,
        };
        // A file that cannot be read counts as different.
        let said = sources.read_config(path).ok();
        let checksum = said.as_deref().map_or(0, crc32fast::hash);
        let says_its_file = said.as_deref() == Some(text.text.as_bytes());
        let config = config::parse(path, text.text.clone().into_bytes())?;
        let loaded = Loaded::restore(config, known, way_back, sources);
        Ok(Loaded { checksum, says_its_file, text: Some(Arc::new(text)), ..loaded })
    }
}

/// The text in the current generation, if it is that of this file, or else why there is none.
fn last_good(store: &StateStore, of: &Path) -> Result<(ConfigText, SavedConfig), String> {
    let path = store.path_of(GenerationName::Current);
    let cannot = |why: &str| format!("{}: {why}", printable::path(&path));
    match store.read(GenerationName::Current) {
        FoundGeneration::Missing => Err(cannot("No such file or directory (os error 2)")),
        FoundGeneration::Damaged(why) => Err(cannot(&why)),
        FoundGeneration::Newer => Err(cannot("a newer filterd wrote it")),
        FoundGeneration::Read { generation, .. } if generation.is_of(of) => {
            let Generation { config: Some(saved), .. } = generation else {
                return Err(cannot("it has no configuration"));
            };
            Ok((store.text_of(&saved)?, saved))
        }
        FoundGeneration::Read { generation, .. } => Err(match generation.config {
            Some(SavedConfig { of, .. }) => cannot(&format!("it is of another file, {of}")),
            None => cannot("it has no configuration"),
        }),
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
