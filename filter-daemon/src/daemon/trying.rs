//! A reload on trial, from its request to its end: prepared with a way back, confirmed, or rolled back.

use super::error::DaemonError;
use super::lists::explain_missing_copy;
use super::owner::Owner;
use super::reading::ReloadRequest;
use super::reload::{ListFinding, Loaded, LoadedList};
use super::serve::failure;
use crate::blocklist::{ListId, ListInfo, Origin};
use crate::clock;
use crate::config::name::CONFIG_LIST;
use crate::control::ReplyTo;
use crate::control::wire::reload::{HeldBack, Reply as Reloaded};
use crate::control::wire::{confirm, rollback};
use crate::source::reading::AcceptedSource;
use crate::text::Explanation;

/// Extends a remedy that contains a reload: a reload would also apply the edits that were to be tried.
fn before_it_is_tried(why: Explanation) -> Explanation {
    let remedy = why.remedy.map(|remedy| format!("{remedy}\n")).unwrap_or_default();
    let remedy = format!(
        "undo your edits, which would take effect without a trial\n{remedy}then edit again and try it"
    );
    Explanation::new(why.message, remedy)
}

impl Owner {
    /// Refuses other reloads while a trial is on.
    pub(super) fn refuse_beside_trial(&mut self) {
        let Some(why) = self.configuration.trial.refusal() else { return };
        if self.sources.readings.refuse(&failure::of(&DaemonError::OnTrial(why.clone()))) {
            tracing::warn!("the configuration was not reloaded: {why}");
        }
    }

    /// Prepares the way back of a trial. It is on disk before anything is changed.
    pub(super) fn prepare_trial(
        &mut self,
        loaded: &Loaded,
        asked: &ReloadRequest,
    ) -> Result<(), DaemonError> {
        if asked.is_rollback {
            let lost = |list: &LoadedList| matches!(list.found, ListFinding::Doubted { targets: None, .. });
            let lost = loaded.lists.iter().filter(|list| lost(list)).map(|list| list.name.clone());
            self.configuration.trial.set_lost(lost.collect());
            self.configuration.trial.set_found(loaded);
        }
        let Some((length, by)) = asked.trial() else { return Ok(()) };
        if !self.configuration.is_any() {
            return Err(DaemonError::NothingToTry);
        }
        if let Some(why) = self.without_way_back() {
            return Err(DaemonError::NoWayBack(before_it_is_tried(why)));
        }
        let lists = self.core.protection.blocklist().lists().iter();
        let names = lists.filter(|(_, list)| list.origin == Origin::File).map(|(_, list)| list.name.clone());
        let names = names.collect();
        let lists = self.lists_on_trial(loaded);
        let lists = (loaded.text.as_deref(), lists);
        let begun = self.configuration.begin_trial(length, (by, loaded.checksum), names, lists);
        let remedy = "make the state directory writable and check its free space";
        begun.map_err(|why| DaemonError::NoWayBack(Explanation::new(why, remedy)))?;
        let lists = self.core.protection.blocklist().lists().iter();
        let readings = lists.filter_map(|(id, list)| Some((&list.name, self.core.lists.sources.of(id)?)));
        let unknown = self.configuration.hold_way_back(readings, true);
        self.core.lists.know_files(unknown);
        Ok(())
    }

    /// The lists in force that stay on trial, under their names on trial. Their new contents are not saved
    /// yet.
    fn lists_on_trial(&self, loaded: &Loaded) -> Vec<AcceptedSource> {
        let lists = self.core.protection.blocklist().lists();
        let (gone, renamed) = (loaded.gone_lists(lists), loaded.renamed(lists));
        let on_trial = |accepted: &AcceptedSource| {
            let renamed = renamed.iter().find(|list| list.from == *accepted.name);
            let name = renamed.map_or_else(|| accepted.name.clone(), |list| list.to.as_str().into());
            let is_gone = gone.iter().any(|gone| *gone == *accepted.name);
            (!is_gone).then(|| AcceptedSource { name, ..accepted.clone() })
        };
        self.core.lists.sources.all_accepted().filter_map(|(_, accepted)| on_trial(accepted)).collect()
    }

    /// Why the configuration in force could not be restored, if there is a reason.
    fn without_way_back(&self) -> Option<Explanation> {
        let lists = || self.core.protection.blocklist().lists().iter();
        self.core
            .lists
            .without_config()
            .or_else(|| self.core.lists.without_copies().next())
            .or_else(|| lists().find_map(|(id, list)| self.missing_copy(id, list)))
            .or_else(|| self.configuration.missing_copy())
    }

    /// Reports a list without a copy of its entries in force. If only part of a list is in force, its copy
    /// does not count. An empty list needs none.
    fn missing_copy(&self, id: ListId, list: &ListInfo) -> Option<Explanation> {
        let is_of_a_file = list.origin == Origin::File && *list.name != *CONFIG_LIST;
        let reading = self.core.lists.sources.of(id).filter(|_| is_of_a_file)?;
        // The copy still names expired entries, so it is complete.
        let entries_named = list.entries + list.spent.len() as u64;
        let is_in_part = |entries: u64| reading.trouble.is_some() && entries != entries_named;
        let is_kept = reading
            .accepted
            .as_ref()
            .is_some_and(|accepted| self.core.lists.has_copy(accepted) && !is_in_part(accepted.entries));
        let is_nothing = reading.accepted.is_none() && entries_named == 0;
        (!is_kept && !is_nothing).then(|| explain_missing_copy(list))
    }

    /// Records that a reload or a rollback is in force.
    pub(super) fn end_well(&mut self, asked: &ReloadRequest) {
        if asked.is_rollback {
            self.configuration.trial.end_rollback();
            self.configuration.note_rollback();
            self.configuration.drop_way_back();
            // Lists are restored too. Entries that were fetched meanwhile come with the next fetch.
            self.sources.readings.forget_refresh();
        } else if asked.is_trial() {
            self.configuration.note_trial();
        } else {
            self.configuration.trial.forget();
            self.configuration.note_reload();
        }
    }

    /// Starts a rollback if the time of a trial is over, or if a user asked for it.
    pub(super) fn mind_trial(&mut self) {
        let trial = &mut self.configuration.trial;
        trial.catch_up();
        let is_due = trial.is_due();
        let is_unwanted = !self.configuration.rolling_back.is_empty() && trial.may_end();
        if is_due || is_unwanted {
            trial.begin_rollback(is_unwanted);
            self.sources.readings.ask_rollback();
            self.read_next();
        }
    }

    /// Handles a rollback request. The reply comes when the previous configuration is in force again.
    pub(super) fn roll_back(&mut self, reply: ReplyTo<rollback::Reply>) {
        if self.configuration.trial.is_on() || self.sources.readings.is_trial_asked() {
            self.configuration.rolling_back.push(reply);
            return self.mind_trial();
        }
        let already = self.configuration.trial.rolled_back().map(clock::on_the_wall);
        _ = reply.send(Ok(rollback::Reply { already, ..rollback::Reply::default() }));
    }

    /// Replies to rollback requests when the rollback succeeded or failed.
    pub(super) fn end_rolling_back(&mut self, result: Result<&Reloaded, &DaemonError>) {
        // A rollback restores lists even if their files differ, so only lists that are lost count as held
        // back.
        let is_lost = |held: &&HeldBack| self.configuration.trial.has_lost(&held.list);
        let undone = result.map(|undone| {
            let held_back = undone.held_back.iter().filter(is_lost).cloned().collect();
            let not_kept =
                undone.not_kept.iter().cloned().chain(self.configuration.trial.unnoted()).collect();
            let undone = Some(Reloaded { held_back, not_kept, ..undone.clone() });
            rollback::Reply { rolled_back: true, already: None, undone }
        });
        let told = undone.map_err(failure::of);
        self.configuration.rolling_back.drain(..).for_each(|reply| _ = reply.send(told.clone()));
    }

    /// Handles the refusal of a reload that was to be on trial: nothing needs to be restored.
    pub(super) fn end_without_trial(&mut self) {
        self.configuration.trial.abandon();
        self.configuration.drop_way_back();
        if !self.sources.readings.is_trial_next() {
            let already = self.configuration.trial.rolled_back().map(clock::on_the_wall);
            let nothing = rollback::Reply { already, ..rollback::Reply::default() };
            self.configuration.rolling_back.drain(..).for_each(|reply| _ = reply.send(Ok(nothing.clone())));
        }
    }

    /// Confirms the trial. The reply comes when that is stored.
    pub(super) fn confirm(&mut self, reply: ReplyTo<confirm::Reply>) {
        if !self.configuration.trial.confirm() {
            let rolled_back = self.configuration.trial.rolled_back().map(clock::on_the_wall);
            // A second request while the copies are being written gets the reply of the first.
            if self.configuration.trial.is_confirmed() {
                self.configuration.confirming.push(reply);
            } else {
                let (at_work, rolling_back) =
                    (self.sources.readings.is_trial_asked(), self.configuration.trial.is_being_rolled_back());
                let rolled_back = rolled_back.filter(|_| !at_work);
                let told = confirm::Reply { rolled_back, rolling_back, at_work, ..confirm::Reply::default() };
                _ = reply.send(Ok(told));
            }
            return;
        }
        tracing::info!("the configuration is confirmed");
        self.configuration.drop_way_back();
        self.core.lists.save_again(self.configuration.save_target());
        self.configuration.confirming.push(reply);
    }

    /// Replies to `confirm` when it is stored, or could not be.
    pub(super) fn end_confirming(&mut self, stored: Result<(), String>) {
        self.configuration.trial.end_confirmation(stored);
        self.sources.feeds.tidy();
        let not_kept = self.core.lists.without_config().into_iter().chain(self.core.lists.without_copies());
        let not_kept = not_kept.chain(self.core.lists.gone(self.core.protection.blocklist()));
        let confirmed = confirm::Reply {
            confirmed: true,
            not_taken: self.configuration.not_taken(),
            unnoted: self.configuration.trial.unnoted(),
            held_back: self.core.lists.held_back(self.core.protection.blocklist()).collect(),
            not_kept: not_kept.collect(),
            ..confirm::Reply::default()
        };
        for reply in self.configuration.confirming.drain(..) {
            _ = reply.send(Ok(confirmed.clone()));
        }
    }
}
