//! Reloads, rollbacks and comparisons in the owner: requested, read, applied in pages, and then reported.

use tracing::error;

use super::applying::{apply, read, save};
use super::diff::{Comparison, CurrentState, gather};
use super::error::DaemonError;
use super::interfaces::{ModeChange, beyond};
use super::jobs::Turn;
use super::owner::Owner;
use super::reading::{ReadRequest, ReloadRequest};
use super::refreshing::refresh;
use super::reload::{self, AppliedReload, KnownList, Loaded, RunningReload};
use super::settings;
use crate::blocklist::Polarity;
use crate::clock;
use crate::config::Config;
use crate::control::ReplyTo;
use crate::control::wire::accept::{Accept, Wrong};
use crate::control::wire::diff;
use crate::control::wire::reload::{Reply as Reloaded, Request};
use crate::source::trouble::Phrasing;
use crate::state::SaveOutcome;
use crate::text::Explain;

/// Reads a configuration and applies it.
async fn reload(turn: Turn<Owner>, asked: ReloadRequest) {
    let reloaded = carry_out(&turn, &asked).await;
    turn.now(|owner| owner.end_reload(asked, reloaded));
}

async fn carry_out(turn: &Turn<Owner>, asked: &ReloadRequest) -> Result<Reloaded, DaemonError> {
    let loaded = load(turn, asked).await?;
    let text = loaded.text.clone();
    let reload = turn.now(|owner| owner.begin_reload(loaded, asked))?;
    let AppliedReload { config, reloaded, to_keep } = apply(turn, reload).await?;
    let mut reloaded = {
        let mut owner = turn.hold();
        owner.configuration.take_effect(text);
        owner.follow(config, reloaded, asked).await
    };
    match asked.trial() {
        // The reply does not wait for the copies: the trial runs.
        Some((length, _)) => turn.now(|owner| {
            reloaded.warnings.extend(owner.sources.feeds.warnings_of_a_trial());
            let until = owner.configuration.trial.begin_countdown(length);
            owner.core.lists.save(owner.configuration.save_target(), to_keep);
            reloaded.confirm_until = until.map(clock::on_the_wall);
        }),
        None => save(turn, to_keep, &mut reloaded).await,
    }
    Ok(reloaded)
}

async fn load(turn: &Turn<Owner>, asked: &ReloadRequest) -> Result<Loaded, DaemonError> {
    let (source, known) = turn.now(|owner| (owner.configuration.source(), owner.known_lists()));
    if asked.is_rollback {
        return read(turn, move |sources| source.restore(&known, sources)).await;
    }
    // While copies are being written, none counts as missing.
    let (is_writing, accept) =
        (turn.now(|owner| owner.core.lists.is_writing()), asked.request.accept.clone());
    read(turn, move |sources| {
        let known = if is_writing { known } else { sources.missed(known) };
        source.load(&known, &accept, sources)
    })
    .await
}

/// Compares the files with what is in force.
async fn diff(turn: Turn<Owner>, answer: ReplyTo<diff::Reply>) {
    let found = compare(&turn).await;
    // A client may have disconnected.
    _ = answer.send(found.map_err(|error| super::serve::failure::of(&error)));
    turn.now(|owner| {
        owner.sources.readings.end();
        owner.read_next();
    });
}

async fn compare(turn: &Turn<Owner>) -> Result<diff::Reply, DaemonError> {
    let (source, known, guarded) =
        turn.now(|owner| (owner.configuration.source(), owner.known_lists(), owner.guard.copied()));
    let read = read(turn, move |sources| {
        sources.writes = false;
        let loaded = source.load(&known, &Accept::default(), sources)?;
        Ok::<_, DaemonError>(gather(loaded, guarded))
    });
    let read = read.await?;
    // A reload of the same files would be refused, too.
    turn.now(|owner| owner.must_be_possible(&read.loaded().config))?;
    let comparison = {
        let mut owner = turn.hold();
        let owner = &mut *owner;
        let after = read.loaded().config.interfaces_besides(&owner.run.interfaces);
        owner.look_at_links().await;
        let then = owner.run.mode.unwrap_or(read.loaded().config.mode);
        let modes = ModeChange { now: owner.mode(), then };
        let interfaces =
            owner.attachment.interfaces.look_ahead(&after, modes, owner.core.protection.filter_mut()).await?;
        let on_trial_until = owner.configuration.trial.until();
        let waits = (!then.is_like(modes.now)).then(|| owner.configuration.waits_for(then));
        let now = CurrentState {
            config: &owner.configuration.config,
            interfaces,
            mode: then,
            waits,
            on_trial_until,
        };
        Comparison::begin(read, now, owner.core.protection.blocklist())
    };
    Ok(comparison.run(turn).await)
}

impl Owner {
    /// Requests a reload, which is read outside the owner.
    pub(super) fn read(&mut self, request: Request, answer: Option<ReplyTo<Reloaded>>) {
        self.sources.readings.ask(request, answer);
        self.read_next();
    }

    /// Requests a comparison of the files with what is in force.
    pub(super) fn read_for_diff(&mut self, answer: ReplyTo<diff::Reply>) {
        self.sources.readings.ask_diff(answer);
        self.read_next();
    }

    /// Begins the next reading, unless one runs.
    pub(super) fn read_next(&mut self) {
        self.refuse_beside_trial();
        // A trial needs the copies of the lists in force for its rollback.
        if self.sources.readings.is_trial_next() && self.core.lists.is_writing() {
            return;
        }
        if self.sources.readings.has_refresh() && self.configuration.trial.refusal().is_some() {
            // Also while a trial begins or is rolled back: its end forgets what was to be read.
            self.tell_refreshed(&|_| true, &Ok(()));
            if self.sources.readings.is_refresh_next() {
                return;
            }
        }
        match self.sources.readings.take_next() {
            None => {}
            Some(ReadRequest::Reload(asked)) => self.jobs.begin(|turn| reload(turn, asked)),
            Some(ReadRequest::Diff(answer)) => self.jobs.begin(|turn| diff(turn, answer)),
            Some(ReadRequest::Refresh(asked)) => self.jobs.begin(|turn| refresh(turn, asked)),
        }
    }

    /// The lists whose files were read before.
    pub(super) fn known_lists(&self) -> Vec<KnownList> {
        reload::known(self.core.protection.blocklist(), &self.core.lists.sources)
    }

    /// Starts to apply a configuration, if it is valid.
    fn begin_reload(&mut self, loaded: Loaded, asked: &ReloadRequest) -> Result<RunningReload, DaemonError> {
        self.must_be_possible(&loaded.config)?;
        self.must_be_acceptable(&loaded.config, &asked.request.accept)?;
        self.prepare_trial(&loaded, asked)?;
        let blocklist = self.core.protection.blocklist_mut();
        RunningReload::begin(loaded, blocklist, &mut self.core.lists.sources)
    }

    /// Every name in `accept` must be that of a list or an interface.
    fn must_be_acceptable(&self, config: &Config, accept: &Accept) -> Result<(), DaemonError> {
        let lists: Vec<_> = config.lists.iter().map(|list| list.name.as_str()).collect();
        let interfaces = config.interfaces_besides(&self.run.interfaces);
        let filtered: Vec<_> =
            self.attachment.interfaces.filtered().into_iter().map(|(_, name)| name).collect();
        match accept.wrong(&lists, &interfaces, &filtered) {
            None => Ok(()),
            Some(Wrong::Either(name)) => Err(DaemonError::AcceptsEither { name: name.to_owned() }),
            Some(Wrong::Unknown(name)) => {
                let lists = if lists.is_empty() { "none".to_owned() } else { lists.join(", ") };
                let there = format!("lists: {lists}; interfaces: {}", interfaces.join(", "));
                let is_filtered = filtered.iter().any(|one| one == name);
                Err(DaemonError::NothingToAccept { name: name.to_owned(), there, is_filtered })
            }
        }
    }

    fn must_be_possible(&self, config: &Config) -> Result<(), DaemonError> {
        let lists = self.core.protection.blocklist().lists();
        let possible =
            reload::must_be_possible(config, &self.run.interfaces, |name| lists.live_entries(name));
        let filtered: Vec<_> =
            self.attachment.interfaces.filtered().into_iter().map(|(_, name)| name).collect();
        let leaves_none = matches!(possible, Err(DaemonError::NoInterface)) && !filtered.is_empty();
        if leaves_none { Err(DaemonError::LeavesNoInterface { filtered }) } else { possible }
    }

    /// Handles the result of saving a generation.
    pub(super) fn note_copies(&mut self, outcome: Option<SaveOutcome>) {
        let are_all = self.core.lists.note(outcome, self.core.protection.blocklist());
        if are_all && let Some(stored) = self.core.lists.take_confirmed() {
            self.end_confirming(stored);
        }
        if are_all {
            self.read_next();
        }
    }

    /// Applies everything else in a configuration besides its entries.
    async fn follow(&mut self, config: Config, mut reloaded: Reloaded, asked: &ReloadRequest) -> Reloaded {
        let before = std::mem::replace(&mut self.configuration.config, config);
        self.configuration.set_mode(self.mode());
        let is_other_mode = !self.configuration.config.mode.is_like(before.mode) && self.run.mode.is_none();
        let waits = self.configuration.waits_for(self.configuration.config.mode);
        let mode =
            (is_other_mode && !waits).then(|| settings::mode(self.configuration.config.mode, Phrasing::Is));
        if is_other_mode && waits {
            reloaded.warnings.push(settings::MODE_WAITS.to_owned());
        }
        self.sources.feeds.follow(&self.configuration.config);
        reloaded
            .warnings
            .extend(self.crowdsec.warnings_of_gone(&self.configuration.config, asked.is_trial()));
        self.crowdsec.follow(&self.configuration.config);
        self.forget_feeds_that_are_gone();
        self.sources.databases.follow(&self.configuration.config);
        self.show_metrics();
        self.guard.follow_servers(self.servers());
        self.guard.settle(&mut self.core.protection);
        let enforce = self.configuration.config.enforce;
        reloaded.enforce = (enforce != before.enforce).then_some(enforce);
        let held_back = reloaded.held_back.iter();
        let held_back = held_back.filter(|held| !(asked.is_rollback && self.is_put_back(&held.list)));
        let held_back = held_back.map(|held| (held.list.as_str(), self.stays_as_said(&held.list))).collect();
        let (restores, renamed) = (asked.is_rollback, &reloaded.renamed);
        let reload = settings::ReloadContext { mood: Phrasing::Is, restores, renamed, held_back };
        let changed = settings::changed(&before, &self.configuration.config, &reload);
        reloaded.settings = mode.into_iter().chain(changed).collect();
        self.attachment.flows.follow(self.core.protection.filter_mut());
        self.core.capacity.shrink(&mut self.core.protection);
        self.counters.counting.look(&self.core.protection);
        reloaded.warnings.extend(self.guard.warnings(self.core.protection.blocklist()));
        self.follow_interfaces(&mut reloaded, asked).await;
        reloaded
    }

    /// Whether the rollback restored this list as the configuration has it. A list may have had another
    /// polarity then, because it was waiting for a file to be accepted.
    fn is_put_back(&self, name: &str) -> bool {
        let lists = self.core.protection.blocklist().lists();
        let said = self.configuration.config.lists.iter().find(|list| list.name.as_str() == name);
        let there = lists.find(name).map(|id| lists.get(id).polarity == Polarity::Allow);
        let is_as_said = said.zip(there).is_some_and(|(said, allows)| said.allows == allows);
        is_as_said && !self.configuration.trial.has_lost(name)
    }

    /// Whether the entries of this list stay as long as the configuration says.
    fn stays_as_said(&self, name: &str) -> bool {
        let lists = self.core.protection.blocklist().lists();
        let said = self.configuration.config.lists.iter().find(|list| list.name.as_str() == name);
        let there = lists.find(name).map(|id| self.core.lists.sources.ttl(id));
        said.zip(there).is_some_and(|(said, there)| said.ttl == there)
    }

    /// Applies the interfaces of the configuration, and reports the changes.
    async fn follow_interfaces(&mut self, reloaded: &mut Reloaded, asked: &ReloadRequest) {
        let (before, accepted) =
            (self.attachment.interfaces.filtered(), self.attachment.interfaces.accepted());
        if asked.is_rollback {
            self.attachment.interfaces.take_back();
        }
        let (names, accept) = (self.interface_names(), &asked.request.accept);
        let refused =
            match self.attachment.interfaces.follow(names, accept, self.core.protection.filter_mut()) {
                Ok(()) => self.look_again().await,
                Err(error) => vec![error],
            };
        reloaded.warnings.extend(self.attachment.interfaces.accepted_in_vain(accept));
        if asked.is_trial() {
            self.attachment.interfaces.try_out(&accepted);
        }
        let after = self.attachment.interfaces.filtered();
        reloaded.attached = beyond(&before, &after);
        reloaded.detached = beyond(&after, &before);
        reloaded.faults = self.attachment.interfaces.faults().collect();
        // An interface that refuses is reported as a fault already.
        if reloaded.faults.is_empty() {
            reloaded.warnings.extend(refused.iter().map(|error| error.explain().to_string()));
        }
    }

    /// Replies to all clients of this reload, and starts the reading for later requests.
    fn end_reload(&mut self, asked: ReloadRequest, mut reloaded: Result<Reloaded, DaemonError>) {
        let (took, is_waited_for) = (self.sources.readings.end(), !asked.waiting.is_empty());
        match &mut reloaded {
            Ok(reloaded) => {
                self.end_well(&asked);
                // The time includes writing the copies, which the client waited for.
                reloaded.milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                // A rollback says nothing about the fetched files.
                if !asked.is_rollback {
                    let read = self.configuration.config.lists.iter().map(|list| list.name.as_str());
                    self.sources.feeds.judge(read, |list| {
                        self.core.lists.is_held_back(list, self.core.protection.blocklist())
                    });
                }
                if !self.configuration.trial.is_on() {
                    self.sources.feeds.tidy();
                }
                reloaded.not_kept.extend(self.core.lists.without_config());
                if asked.is_rollback {
                    super::report::log_reload(
                        "rollback",
                        reloaded,
                        !self.configuration.rolling_back.is_empty(),
                    );
                    self.end_rolling_back(Ok(&*reloaded));
                } else {
                    super::report::log_reload("reload", reloaded, is_waited_for);
                }
            }
            Err(error) if asked.is_rollback => {
                self.configuration.trial.note_failed_rollback(error.brief());
                self.end_rolling_back(Err(&*error));
            }
            Err(error) => {
                if asked.is_trial() {
                    self.end_without_trial();
                }
                self.configuration.note_refusal(error);
                // Otherwise the client reports it.
                if !is_waited_for {
                    error!("reload failed, nothing was changed: {}", error.brief());
                }
            }
        }
        let reply = reloaded.map_err(|error| super::serve::failure::of(&error));
        // A client may have disconnected.
        asked.waiting.into_iter().for_each(|answer| _ = answer.send(reply.clone()));
        self.mind_trial();
        self.read_next();
    }
}
