//! A reload in the owner: requested, read, applied in pages, and then reported.

use tracing::error;

use super::diff::{Comparison, ComparisonInput as Compared, CurrentState};
use super::error::DaemonError;
use super::interfaces::{ModeChange, beyond};
use super::owner::Owner;
use super::reading::ReadResult;
use super::reload::{self, Loaded, RunningReload};
use super::settings;
use crate::blocklist::Polarity;
use crate::clock;
use crate::config::Config;
use crate::control::ReplyTo;
use crate::control::wire::accept::Wrong;
use crate::control::wire::diff;
use crate::control::wire::reload::{Reply as Reloaded, Request};
use crate::source::trouble::Phrasing;
use crate::state::SaveOutcome;
use crate::text::Explain;

impl Owner {
    /// Requests a reload, which is read outside the owner.
    pub(super) fn read(&mut self, request: Request, answer: Option<ReplyTo<Reloaded>>) {
        self.readings.ask(request, answer);
        self.read_next();
    }

    /// Starts the next reading, unless one runs.
    pub(super) fn read_next(&mut self) {
        self.refuse_beside_trial();
        // A trial needs the copies of the lists in force for its rollback.
        let waits = self.readings.is_trial_next() && self.lists.is_writing();
        if self.readings.is_due() && !waits {
            let known = reload::known(self.protection.blocklist(), &self.lists.sources);
            let guarded = self.guard.copied();
            let is_writing = self.lists.is_writing();
            self.readings.begin(self.configuration.source(), known, guarded, is_writing);
        }
        self.read_stale();
    }

    /// Requests a comparison of the files with what is in force.
    pub(super) fn read_for_diff(&mut self, answer: ReplyTo<diff::Reply>) {
        self.readings.ask_diff(answer);
        self.read_next();
    }

    /// Passes the result of a reading to the operation that requested it.
    pub(super) async fn take_reading(&mut self, read: Result<ReadResult, DaemonError>) {
        // Files of the guard may have changed meanwhile. Their addresses are allowed before anything is
        // blocked.
        self.guard.look_at_files(&mut self.protection);
        match read {
            Ok(ReadResult::Reload(loaded)) if self.readings.refreshed().is_some() => {
                self.begin_refresh(loaded)
            }
            Ok(ReadResult::Reload(loaded)) => self.begin_reload(Ok(loaded)),
            Ok(ReadResult::Diff(read)) => self.begin_diff(read).await,
            Err(error) if self.readings.is_for_diff() => self.end_diff(Err(error)),
            Err(error) => self.begin_reload(Err(error)),
        }
    }

    /// Starts a comparison, if a reload of the same files would be accepted.
    async fn begin_diff(&mut self, read: Compared) {
        let after = read.loaded().config.interfaces_besides(&self.run.interfaces);
        if let Err(error) = self.must_be_possible(&read.loaded().config) {
            return self.end_diff(Err(error));
        }
        self.look_at_links().await;
        let then = self.run.mode.unwrap_or(read.loaded().config.mode);
        let modes = ModeChange { now: self.mode(), then };
        match self.interfaces.look_ahead(&after, modes, self.protection.filter_mut()).await {
            Ok(interfaces) => {
                let on_trial_until = self.configuration.trial.until();
                let waits = (!then.is_like(modes.now)).then(|| self.configuration.waits_for(then));
                let now =
                    CurrentState { config: &self.config, interfaces, mode: then, waits, on_trial_until };
                self.diff.begin(Comparison::begin(read, now, self.protection.blocklist()));
            }
            Err(error) => self.end_diff(Err(error.into())),
        }
    }

    /// Replies to the client that requested the comparison.
    pub(super) fn end_diff(&mut self, found: Result<diff::Reply, DaemonError>) {
        self.readings.end_diff(found.map_err(|error| super::serve::failure::of(&error)));
        self.read_next();
    }

    /// Starts to apply a configuration, if it is valid.
    fn begin_reload(&mut self, loaded: Result<Loaded, DaemonError>) {
        let reload = loaded
            .and_then(|loaded| self.admit(loaded))
            .and_then(|loaded| self.prepare_trial(loaded))
            .and_then(|loaded| {
                RunningReload::begin(loaded, self.protection.blocklist_mut(), &mut self.lists.sources)
            });
        let ends = self.configuration.trial.ends().filter(|_| self.readings.is_rollback());
        let reload = reload.map(|reload| reload.ending_as(ends));
        match reload {
            Ok(reload) => self.reload.begin(reload),
            Err(error) => self.end_reload(Err(error)),
        }
    }

    /// Refuses what a start would refuse as well.
    fn admit(&mut self, mut loaded: Loaded) -> Result<Loaded, DaemonError> {
        self.must_be_possible(&loaded.config)?;
        self.must_be_acceptable(&loaded.config)?;
        self.configuration.prepare(&mut loaded);
        Ok(loaded)
    }

    /// Every name in `accept` must be that of a list or an interface.
    fn must_be_acceptable(&self, config: &Config) -> Result<(), DaemonError> {
        let lists: Vec<_> = config.lists.iter().map(|list| list.name.as_str()).collect();
        let interfaces = config.interfaces_besides(&self.run.interfaces);
        let filtered: Vec<_> = self.interfaces.filtered().into_iter().map(|(_, name)| name).collect();
        match self.readings.accept().wrong(&lists, &interfaces, &filtered) {
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
        let lists = self.protection.blocklist().lists();
        let possible =
            reload::must_be_possible(config, &self.run.interfaces, |name| lists.live_entries(name));
        let filtered: Vec<_> = self.interfaces.filtered().into_iter().map(|(_, name)| name).collect();
        let leaves_none = matches!(possible, Err(DaemonError::NoInterface)) && !filtered.is_empty();
        if leaves_none { Err(DaemonError::LeavesNoInterface { filtered }) } else { possible }
    }

    /// Ends a reload that was applied or undone. Its client gets the reply once the copies of the lists are
    /// on disk.
    pub(super) async fn finish_reload(&mut self, mut reload: RunningReload) {
        let ends = self.readings.trial().map(|_| reload.take_ends(&self.lists.sources));
        match reload.finish(self.protection.blocklist_mut(), &mut self.lists.sources) {
            Ok((_, reloaded, to_keep)) if self.readings.refreshed().is_some() => {
                self.reloaded = Some(reloaded);
                self.lists.save(self.configuration.save_target(), to_keep);
            }
            Ok((config, mut reloaded, to_keep)) => {
                self.configuration.take_effect();
                reloaded = self.follow(config, reloaded).await;
                match self.readings.trial().map(|(length, _)| length) {
                    Some(length) => {
                        reloaded.warnings.extend(self.feeds.warnings_of_a_trial());
                        let until = self.configuration.trial.begin_countdown(length);
                        self.lists.save(self.configuration.save_target(), to_keep);
                        self.configuration.trial.set_expiries(ends);
                        reloaded.confirm_until = until.map(clock::on_the_wall);
                        self.end_reload(Ok(reloaded));
                    }
                    None => {
                        self.reloaded = Some(reloaded);
                        self.lists.save(self.configuration.save_target(), to_keep);
                    }
                }
            }
            Err(error) => self.end_reload(Err(error.into())),
        }
    }

    /// Handles the result of saving a generation.
    pub(super) fn note_copies(&mut self, outcome: Option<SaveOutcome>) {
        let are_all = self.lists.note(outcome, self.protection.blocklist());
        if are_all && let Some(stored) = self.lists.take_confirmed() {
            self.end_confirming(stored);
        }
        if are_all && let Some(mut reloaded) = self.reloaded.take() {
            reloaded.not_kept.extend(self.lists.without_copies());
            reloaded.not_kept.extend(self.lists.gone(self.protection.blocklist()));
            self.end_reload(Ok(reloaded));
        }
        if are_all {
            self.read_next();
        }
    }

    /// Applies everything else in a configuration besides its entries.
    async fn follow(&mut self, config: Config, mut reloaded: Reloaded) -> Reloaded {
        let before = std::mem::replace(&mut self.config, config);
        self.configuration.set_mode(self.mode());
        let is_other_mode = !self.config.mode.is_like(before.mode) && self.run.mode.is_none();
        let waits = self.configuration.waits_for(self.config.mode);
        let mode = (is_other_mode && !waits).then(|| settings::mode(self.config.mode, Phrasing::Is));
        if is_other_mode && waits {
            reloaded.warnings.push(settings::MODE_WAITS.to_owned());
        }
        self.feeds.follow(&self.config);
        let is_tried = self.readings.trial().is_some();
        reloaded.warnings.extend(self.crowdsec.warnings_of_gone(&self.config, is_tried));
        self.crowdsec.follow(&self.config);
        self.forget_feeds_that_are_gone();
        self.databases.follow(&self.config);
        self.show_metrics();
        self.guard.follow_servers(self.servers());
        self.guard.settle(&mut self.protection);
        let enforce = self.config.enforce;
        reloaded.enforce = (enforce != before.enforce).then_some(enforce);
        let held_back = reloaded.held_back.iter().filter(|held| !self.is_put_back(&held.list));
        let held_back = held_back.map(|held| (held.list.as_str(), self.stays_as_said(&held.list))).collect();
        let (restores, renamed) = (self.readings.is_rollback(), &reloaded.renamed);
        let reload = settings::ReloadContext { mood: Phrasing::Is, restores, renamed, held_back };
        let changed = settings::changed(&before, &self.config, &reload);
        reloaded.settings = mode.into_iter().chain(changed).collect();
        self.flows.follow(self.protection.filter_mut());
        self.capacity.shrink(&mut self.protection);
        self.counting.look(&self.protection);
        reloaded.warnings.extend(self.guard.warnings(self.protection.blocklist()));
        self.follow_interfaces(&mut reloaded).await;
        reloaded
    }

    /// Whether a rollback restored this list as the configuration has it. A list may have had another
    /// polarity then, because it was waiting for a file to be accepted.
    fn is_put_back(&self, name: &str) -> bool {
        let lists = self.protection.blocklist().lists();
        let said = self.config.lists.iter().find(|list| list.name.as_str() == name);
        let there = lists.find(name).map(|id| lists.get(id).polarity == Polarity::Allow);
        let is_as_said = said.zip(there).is_some_and(|(said, allows)| said.allows == allows);
        is_as_said && self.readings.is_rollback() && !self.configuration.trial.has_lost(name)
    }

    /// Whether the entries of this list stay as long as the configuration says.
    fn stays_as_said(&self, name: &str) -> bool {
        let lists = self.protection.blocklist().lists();
        let said = self.config.lists.iter().find(|list| list.name.as_str() == name);
        let there = lists.find(name).map(|id| self.lists.sources.ttl(id));
        said.zip(there).is_some_and(|(said, there)| said.ttl == there)
    }

    /// Applies the interfaces of the configuration, and reports the changes.
    async fn follow_interfaces(&mut self, reloaded: &mut Reloaded) {
        let (before, accepted) = (self.interfaces.filtered(), self.interfaces.accepted());
        if self.readings.is_rollback() {
            self.interfaces.take_back();
        }
        let (names, accept) = (self.interface_names(), self.readings.accept());
        let refused = match self.interfaces.follow(names, &accept, self.protection.filter_mut()) {
            Ok(()) => self.look_again().await,
            Err(error) => vec![error],
        };
        reloaded.warnings.extend(self.interfaces.accepted_in_vain(&accept));
        if self.readings.trial().is_some() {
            self.interfaces.try_out(&accepted);
        }
        let after = self.interfaces.filtered();
        reloaded.attached = beyond(&before, &after);
        reloaded.detached = beyond(&after, &before);
        reloaded.faults = self.interfaces.faults().collect();
        // An interface that refuses is reported as a fault already.
        if reloaded.faults.is_empty() {
            reloaded.warnings.extend(refused.iter().map(|error| error.explain().to_string()));
        }
    }

    /// Replies to all clients of this reload, and starts the reading for later requests.
    fn end_reload(&mut self, mut reloaded: Result<Reloaded, DaemonError>) {
        if self.readings.refreshed().is_some() {
            self.end_refresh(reloaded);
            return;
        }
        match &mut reloaded {
            Ok(reloaded) => {
                self.end_well();
                // The time includes writing the copies, which the client waited for.
                let took = self.readings.began().map(|began| began.elapsed().as_millis()).unwrap_or_default();
                reloaded.milliseconds = u64::try_from(took).unwrap_or(u64::MAX);
                // A rollback says nothing about the fetched files.
                if !self.readings.is_rollback() {
                    let read = self.config.lists.iter().map(|list| list.name.as_str());
                    self.feeds.judge(read, |list| self.lists.is_held_back(list, self.protection.blocklist()));
                }
                if !self.configuration.trial.is_on() {
                    self.feeds.tidy();
                }
                reloaded.not_kept.extend(self.lists.without_config());
                if self.readings.is_rollback() {
                    super::report::log_reload("rollback", reloaded, !self.rolling_back.is_empty());
                    self.end_rolling_back(Ok(&*reloaded));
                } else {
                    super::report::log_reload("reload", reloaded, self.readings.is_waited_for());
                }
            }
            Err(error) if self.readings.is_rollback() => {
                self.configuration.trial.note_failed_rollback(error.brief());
                self.end_rolling_back(Err(&*error));
            }
            Err(error) => {
                if self.readings.trial().is_some() {
                    self.end_without_trial();
                }
                self.configuration.note_refusal(error);
                // Otherwise the client reports it.
                if !self.readings.is_waited_for() {
                    error!("reload failed, nothing was changed: {}", error.brief());
                }
            }
        }
        self.readings.end(reloaded.map_err(|error| super::serve::failure::of(&error)));
        self.mind_trial();
        self.read_next();
    }
}
