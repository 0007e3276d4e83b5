//! Live entries and their journal: what is added and removed is answered for when it is on disk, and what was there is
//! there again after a restart.

use std::time::{Duration, Instant};

use filter_common::target::Target;
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::error::DaemonError;
use super::owner::{Answer, Owner};
use super::serve::DEFAULT_LIST;
use crate::blocklist::{Blocklist, Kind, Record};
use crate::clock;
use crate::config::Config;
use crate::control::wire::{Changed, Failure};
use crate::journal::{Found, Journal, NotWritten};

/// Targets carried forward between two requests: a few milliseconds' worth.
const PAGE: usize = 8192;

/// How long a disk that has failed is left alone.
const RETRY: Duration = Duration::from_secs(5);

type Written = Result<(), NotWritten>;

/// What is wanted now, being written once more behind all that is in the journal.
pub struct Carrying {
    /// Told when the last page is on disk.
    pub written: oneshot::Receiver<Written>,
    stage: Stage,
}

enum Stage {
    /// Pages follow, after this target.
    Pages(Option<Target>),
    /// The rows before are being removed.
    Trimming,
}

/// Opens the journal, and makes `blocklist` what it says.
pub fn restore(
    directory: &std::path::Path,
    config: &Config,
    blocklist: &mut Blocklist,
) -> Result<Journal, DaemonError> {
    let mut outcome = Ok(());
    let (journal, found, refused) = Journal::open(directory, &mut |change| {
        let change = out_of_the_way(change, config);
        if outcome.is_ok() {
            outcome = blocklist.replay(change);
        }
    })?;
    outcome.map_err(|_| DaemonError::TooManyLists)?;
    blocklist.expire(clock::now());
    if let Some(refused) = refused {
        error!("{refused}");
        error!(
            "what was added live before is not blocked, and what is added now would not survive a restart"
        );
    }
    tell(&found, blocklist);
    Ok(journal)
}

/// A list that the configuration has taken the name of goes on in the default one.
fn out_of_the_way(mut change: Record, config: &Config) -> Record {
    let (Record::Want { list, .. } | Record::Release { list, .. } | Record::ReleaseAll { list }) =
        &mut change;
    if config.lists.iter().any(|taken| taken.name.as_str() == &**list) {
        *list = DEFAULT_LIST.into();
    }
    change
}

fn tell(found: &Found, blocklist: &Blocklist) {
    if let Some((aside, reason)) = &found.set_aside {
        error!("the journal of live entries is damaged: {reason}");
        error!("it was set aside as {}; what was added live before is not blocked", aside.display());
    }
    if found.damaged_rows > 0 {
        error!("{} rows of the journal are damaged: some live entries are not blocked", found.damaged_rows);
    }
    let live = targets_of(blocklist);
    if live > 0 {
        info!("{live} live entries are back");
    }
}

fn targets_of(blocklist: &Blocklist) -> u64 {
    blocklist.lists().iter().filter(|(_, list)| list.kind == Kind::Live).map(|(_, list)| list.targets).sum()
}

impl Owner {
    /// Answers, when what was changed for it is on disk.
    pub(super) fn answer_when_written(
        &mut self,
        answered: Result<Changed, Failure>,
        answer: Answer<Changed>,
    ) {
        let changes = std::mem::take(&mut self.unsaved);
        if changes.is_empty() {
            // A client that has gone meanwhile is told nothing, here and below.
            _ = answer.send(answered);
        } else if self.config.durable {
            let told = move |written: Written| {
                _ = answer.send(answered.and_then(|reply| written.map(|()| reply).map_err(not_durable)));
            };
            self.journal.write(changes, Box::new(told));
        } else {
            _ = answer.send(answered);
            self.journal.write_soon(changes);
        }
    }

    /// Begins to carry forward what is wanted, if the journal has become long, or has lost something.
    pub(super) fn keep_journal(&mut self) {
        self.journal.keep_up();
        let is_due = self.journal.is_long(targets_of(&self.blocklist))
            || self.journal.is_behind() && self.journal_retry <= Instant::now();
        if is_due && self.carrying.is_none() {
            self.journal.mark();
            self.carry_page(None);
        }
    }

    /// Carries the next page forward; behind the last one, what came before the first is removed.
    pub(super) fn carried(&mut self, written: Result<Written, oneshot::error::RecvError>) {
        let Some(Carrying { stage, .. }) = self.carrying.take() else { return };
        match (written, stage) {
            (Ok(Ok(())), Stage::Pages(after @ Some(_))) => self.carry_page(after),
            (Ok(Ok(())), Stage::Pages(None)) => {
                self.carry(Stage::Trimming, |journal, done| journal.trim(done))
            }
            (Ok(Ok(())), Stage::Trimming) => {}
            (Ok(Err(_)) | Err(_), _) => self.journal_retry = Instant::now() + RETRY,
        }
    }

    /// How long until the journal is looked after again.
    pub(super) fn until_journal(&self) -> Option<Duration> {
        let retry = || self.journal_retry.saturating_duration_since(Instant::now());
        self.journal.is_behind().then(retry).into_iter().chain(self.journal.until_due()).min()
    }

    fn carry_page(&mut self, after: Option<Target>) {
        let (changes, next) = self.blocklist.as_changes(after, PAGE, |list| self.is_live(list));
        self.carry(Stage::Pages(next), |journal, done| journal.write(changes, done));
    }

    fn carry(&mut self, stage: Stage, order: impl FnOnce(&mut Journal, crate::journal::Done)) {
        let (told, written) = oneshot::channel();
        // Nobody waits for it any more if the daemon stops meanwhile.
        order(&mut self.journal, Box::new(move |result| _ = told.send(result)));
        self.carrying = Some(Carrying { written, stage });
    }
}

fn not_durable(failure: NotWritten) -> Failure {
    warn!("{failure}");
    let message = format!("done, but it would not survive a restart: {failure}");
    Failure::NotDurable(message.into())
}
